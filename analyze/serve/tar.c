/* tar.c - see tar.h. */
#include "analyze/serve/tar.h"

#include <errno.h>
#include <string.h>

#define BLOCK 512
#define SIZE_DIGITS_MAX UINT64_C(077777777777) /* eleven octal digits: 8 GiB */

/* IEEE 1003.1, pax: the ustar header. All fields are text. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6],
		version[2];
	char user[32], group[32], major[8], minor[8], prefix[155], fill[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

static int write_failed(struct vt_err *err)
{
	return vt_err_set(err, VT_E_IO, "the archive cannot be written: %s", strerror(errno));
}

static int put_header(FILE *tar, const char *name, uint64_t bytes, struct vt_err *err)
{
	struct header header = { .type = '0', .magic = "ustar", .version = { '0', '0' } };
	const unsigned char *at = (const unsigned char *)&header;
	unsigned sum = 0;

	if (strlen(name) >= sizeof(header.name) || bytes > SIZE_DIGITS_MAX)
		return vt_err_set(err, VT_E_IO, "%s does not fit into an archive", name);
	memcpy(header.name, name, strlen(name));
	memcpy(header.mode, "0000644", 8);
	memcpy(header.uid, "0000000", 8);
	memcpy(header.gid, "0000000", 8);
	(void)snprintf(header.size, sizeof(header.size), "%011llo", (unsigned long long)bytes);
	memcpy(header.mtime, "00000000000", 12);
	/* The sum is taken with its own field as spaces. */
	memset(header.checksum, ' ', sizeof(header.checksum));
	for (size_t i = 0; i < sizeof(header); i++)
		sum += at[i];
	(void)snprintf(header.checksum, sizeof(header.checksum), "%06o", sum);
	return fwrite(&header, sizeof(header), 1, tar) == 1 ? 0 : write_failed(err);
}

static int put_padding(FILE *tar, uint64_t bytes, struct vt_err *err)
{
	static const char zero[BLOCK];
	size_t more = (BLOCK - bytes % BLOCK) % BLOCK;

	return fwrite(zero, 1, more, tar) == more ? 0 : write_failed(err);
}

int vt_tar_add_text(FILE *tar, const char *name, const char *text, size_t bytes, struct vt_err *err)
{
	int r = put_header(tar, name, bytes, err);

	if (!r && fwrite(text, 1, bytes, tar) != bytes)
		r = write_failed(err);
	return r ? r : put_padding(tar, bytes, err);
}

int vt_tar_add_file(FILE *tar, const char *name, FILE *from, struct vt_err *err)
{
	char part[1 << 16];
	uint64_t left;
	off_t bytes;
	int r;

	if (fseeko(from, 0, SEEK_END) || (bytes = ftello(from)) < 0 || fseeko(from, 0, SEEK_SET))
		return write_failed(err);
	r = put_header(tar, name, (uint64_t)bytes, err);
	for (left = (uint64_t)bytes; left && !r;) {
		size_t n = fread(part, 1, left < sizeof(part) ? (size_t)left : sizeof(part), from);

		if (!n || fwrite(part, 1, n, tar) != n)
			r = write_failed(err);
		left -= n;
	}
	return r ? r : put_padding(tar, (uint64_t)bytes, err);
}

int vt_tar_end(FILE *tar, struct vt_err *err)
{
	static const char zero[2 * BLOCK];

	return fwrite(zero, 1, sizeof(zero), tar) == sizeof(zero) ? 0 : write_failed(err);
}
