/* crc32.c - see crc32.h. Eight tables, eight bytes a step: some 2 GB/s, so that checking costs less than reading. */
#include "schema/base/crc32.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0xedb88320u

/* tables[k][b]: the effect of byte b, k bytes before the end. Constant once made. */
static uint32_t tables[8][256];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t crc = b;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		tables[0][b] = crc;
	}
	for (int k = 1; k < 8; k++)
		for (uint32_t b = 0; b < 256; b++)
			tables[k][b] = tables[k - 1][b] >> 8 ^ tables[0][tables[k - 1][b] & 0xff];
}

uint32_t vt_crc32(const void *data, size_t bytes)
{
	const uint8_t *at = data;
	uint32_t crc = UINT32_MAX;

	(void)pthread_once(&made, make_tables);
	for (; bytes >= 8; bytes -= 8, at += 8) {
		uint32_t low =
			crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);

		crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^
		      tables[4][low >> 24] ^ tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^ tables[0][at[7]];
	}
	for (; bytes; bytes--)
		crc = crc >> 8 ^ tables[0][(crc ^ *at++) & 0xff];
	return ~crc;
}
