/* buf.h - a growing byte buffer. Zero-initialised is empty; the holder calls vt_buf_done. */
#ifndef VT_BASE_BUF_H
#define VT_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct vt_buf {
	uint8_t *data;
	size_t bytes;
	size_t room;
};

/* Makes room for `more` bytes behind the present ones. 0, or -VT_E_NOMEM with the buffer unchanged. */
int vt_buf_reserve(struct vt_buf *buf, size_t more);
int vt_buf_append(struct vt_buf *buf, const void *data, size_t bytes);
void vt_buf_done(struct vt_buf *buf);
static inline void vt_buf_clear(struct vt_buf *buf)
{
	buf->bytes = 0;
}

#endif
