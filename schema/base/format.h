/* format.h - numbers as people read them. All write into the caller's buffer and return it. */
#ifndef VT_BASE_FORMAT_H
#define VT_BASE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define VT_FORMAT_MAX 48

/* PyTorch's words and rounding (c10 format_size): "512 bytes", "1.50 KiB", "20.00 MiB", "139.81 GiB". */
const char *vt_format_bytes(char out[VT_FORMAT_MAX], uint64_t bytes);
const char *vt_format_signed_bytes(char out[VT_FORMAT_MAX], int64_t bytes);
/* "12,345,678" */
const char *vt_format_count(char out[VT_FORMAT_MAX], uint64_t count);
/* "850 ns", "12.3 us", "4.56 ms", "1.234 s", "2 min 03 s" */
const char *vt_format_ns(char out[VT_FORMAT_MAX], uint64_t ns);
/* "1.5G", "64KiB", "1536": 0, or -VT_E_USAGE. */
int vt_parse_bytes(const char *text, uint64_t *ret_bytes);

#endif
