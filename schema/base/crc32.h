/* crc32.h - CRC-32 with the polynomial of zlib and PNG (ISO 3309, reflected 0xedb88320). */
#ifndef VT_BASE_CRC32_H
#define VT_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Of `bytes` bytes; crc32("123456789") is 0xcbf43926. Any thread. */
uint32_t vt_crc32(const void *data, size_t bytes);

#endif
