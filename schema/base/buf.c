/* buf.c - see buf.h. */
#include "schema/base/buf.h"

#include <stdlib.h>
#include <string.h>

#include "schema/base/err.h"

int vt_buf_reserve(struct vt_buf *buf, size_t more)
{
	size_t room = buf->room ? buf->room : 256;
	uint8_t *data;

	if (more <= buf->room - buf->bytes)
		return 0;
	if (more > SIZE_MAX / 4 || buf->bytes > SIZE_MAX / 4)
		return -VT_E_NOMEM;
	while (room - buf->bytes < more)
		room *= 2;
	data = realloc(buf->data, room);
	if (!data)
		return -VT_E_NOMEM;
	buf->data = data;
	buf->room = room;
	return 0;
}

int vt_buf_append(struct vt_buf *buf, const void *data, size_t bytes)
{
	int r = vt_buf_reserve(buf, bytes);

	if (r < 0)
		return r;
	if (bytes)
		memcpy(buf->data + buf->bytes, data, bytes);
	buf->bytes += bytes;
	return 0;
}

void vt_buf_done(struct vt_buf *buf)
{
	free(buf->data);
	*buf = (struct vt_buf){ 0 };
}
