/* gzip.c - see gzip.h. */
#include "analyze/export/gzip.h"

#define ZLIB_CONST /* input is const */
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* zlib: the largest window, with gzip's head */
#define MEMORY_LEVEL 9
#define INPUT_MAX (1u << 30) /* zlib counts in unsigned int */
#define STEP (1u << 18)

int vt_gzip(const void *data, size_t bytes, struct vt_buf *ret, struct vt_err *err)
{
	z_stream stream = { .next_in = data };
	size_t left = bytes;
	int status =
		deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY);

	while (status == Z_OK) {
		if (!stream.avail_in) {
			stream.avail_in = (uInt)(left < INPUT_MAX ? left : INPUT_MAX);
			left -= stream.avail_in;
		}
		if (vt_buf_reserve(ret, STEP) < 0)
			break;
		stream.next_out = ret->data + ret->bytes;
		stream.avail_out = STEP;
		status = deflate(&stream, left ? Z_NO_FLUSH : Z_FINISH);
		ret->bytes += STEP - stream.avail_out;
	}
	(void)deflateEnd(&stream);
	return status == Z_STREAM_END ? 0 : vt_err_set(err, VT_E_NOMEM, "no memory to compress %zu bytes", bytes);
}
