/*
 * replay_main.c - runs a fuzz target over stored inputs, and over mutations of them, without libFuzzer: the same in every
 * build and on every machine.
 *
 *   TARGET [--mutate N] PATH...   files, or directories of files; N mutations of each
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/base/bits.h"
#include "schema/base/buf.h"
#include "tests/fuzz/fuzz.h"

static unsigned long ninputs;

static int read_file(const char *path, struct vt_buf *out)
{
	FILE *file = fopen(path, "rb");
	uint8_t part[4096];
	size_t n;

	vt_buf_clear(out);
	if (!file)
		return -1;
	while ((n = fread(part, 1, sizeof(part), file)) > 0)
		if (vt_buf_append(out, part, n) < 0)
			abort();
	return fclose(file);
}

/* Changes some bytes, and sometimes cuts, from a seed: flips, values at the edges, copies from elsewhere in the input. */
static void mutate(struct vt_buf *input, uint64_t seed)
{
	static const uint8_t edges[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	uint64_t random = vt_mix64(seed);
	unsigned changes = 1 + (unsigned)(random % 6);

	for (unsigned i = 0; i < changes && input->bytes; i++) {
		size_t at = vt_mix64(seed * 8 + i) % input->bytes;

		random = vt_mix64(random + i);
		/* Half of them near the front, where the heads are. */
		if (random & 1)
			at %= 64;
		at = at < input->bytes ? at : input->bytes - 1;
		switch (random >> 1 & 3) {
		case 0:
			input->data[at] ^= (uint8_t)(1u << (random >> 8 & 7));
			break;
		case 1:
			input->data[at] = edges[(random >> 8) % VT_ARRAY_SIZE(edges)];
			break;
		case 2:
			input->data[at] = input->data[(random >> 8) % input->bytes];
			break;
		default:
			input->data[at] = (uint8_t)(random >> 8);
		}
	}
	if (random >> 60 == 0)
		input->bytes = (random >> 8) % (input->bytes + 1);
}

static void run_file(const char *path, unsigned long mutations)
{
	struct vt_buf input = { 0 }, mutated = { 0 };

	if (read_file(path, &input) != 0) {
		perror(path);
		exit(1);
	}
	(void)LLVMFuzzerTestOneInput(input.data, input.bytes);
	ninputs++;
	for (unsigned long i = 0; i < mutations; i++, ninputs++) {
		vt_buf_clear(&mutated);
		if (vt_buf_append(&mutated, input.data, input.bytes) < 0)
			abort();
		mutate(&mutated, i * 1000003 + input.bytes);
		(void)LLVMFuzzerTestOneInput(mutated.data, mutated.bytes);
	}
	vt_buf_done(&input);
	vt_buf_done(&mutated);
}

static void run_path(const char *path, unsigned long mutations)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir) {
		run_file(path, mutations);
		return;
	}
	while ((entry = readdir(dir))) {
		char name[4200];

		if (entry->d_name[0] != '.' &&
		    (size_t)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) < sizeof(name))
			run_file(name, mutations);
	}
	(void)closedir(dir);
}

int main(int argc, char **argv)
{
	unsigned long mutations = 0;
	int first = 1;

	if (argc > 2 && !strcmp(argv[1], "--mutate")) {
		mutations = strtoul(argv[2], NULL, 10);
		first = 3;
	}
	for (int i = first; i < argc; i++)
		run_path(argv[i], mutations);
	printf("%lu inputs\n", ninputs);
	return ninputs ? 0 : 1; /* nothing run is nothing shown */
}
