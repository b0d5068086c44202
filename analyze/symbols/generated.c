/*
 * generated.c - see generated.h.
 *
 * Inductor's wrapper code (torch/_inductor/codegen/wrapper.py) gets a buffer, and then names the graph's nodes above the
 * call that fills it:
 *
 *   # AOT ID: ['0_forward']
 *   ...
 *           buf0 = empty_strided_cuda((1000, 64), (64, 1), torch.float32)
 *           # Topologically Sorted Source Nodes: [y], Original ATen: [aten.t, aten.addmm]
 *           extern_kernels.addmm(primals_2, primals_3, ..., out=buf0)
 *
 * Before PyTorch 2.6 the comment began "Source Nodes". A node has the name of the program's variable, or of its operation.
 */
#include "analyze/symbols/generated.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/base/cleanup.h"

#define FILE_BYTES_MAX (16 << 20)
/* Lines below the one that gets a buffer in which the one that fills it is looked for. */
#define LINES_AHEAD 200

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool vt_is_generated_file(const char *path)
{
	const char *name = file_name(path), *dot = strrchr(name, '.');

	return path[0] == '/' && strstr(path, "/torchinductor_") && !strstr(path, "/../") && dot && !strcmp(dot, ".py");
}

static const char *next_line(const char *at)
{
	const char *end = strchr(at, '\n');

	return end ? end + 1 : at + strlen(at);
}

static size_t line_length(const char *at)
{
	return strcspn(at, "\n");
}

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* Whether a line has a text. */
static bool has(const char *line, const char *text)
{
	return memmem(line, line_length(line), text, strlen(text)) != NULL;
}

/* Whether a line has a word of its own: "buf1" in "f(buf1, buf10)". */
static bool has_word(const char *line, const char *word, size_t length)
{
	size_t left = line_length(line);

	for (size_t i = 0; i + length <= left; i++) {
		bool begins = !i || !(isalnum((unsigned char)line[i - 1]) || line[i - 1] == '_');
		char after = line[i + length];

		if (begins && !memcmp(line + i, word, length) && !isalnum((unsigned char)after) && after != '_')
			return true;
	}
	return false;
}

/* Copies what stands between '[' and ']' on the line, from a mark on. The number of bytes; 0: nothing. */
static size_t copy_list(char *out, size_t room, const char *line, const char *mark)
{
	const char *end = line + line_length(line), *from, *to;
	const char *found = memmem(line, (size_t)(end - line), mark, strlen(mark));
	size_t length;

	if (!found)
		return 0;
	from = found + strlen(mark);
	to = memchr(from, ']', (size_t)(end - from));
	if (!to)
		return 0;
	length = (size_t)(to - from) < room - 1 ? (size_t)(to - from) : room - 1;
	memcpy(out, from, length);
	out[length] = '\0';
	return length;
}

/* "y (aten.t, aten.addmm)" of the comment above a line; false where there is none. */
static bool text_of_comment(char out[VT_GENERATED_MAX], const char *line)
{
	char nodes[100] = "", ops[100] = "";
	size_t n = copy_list(nodes, sizeof(nodes), line, "Source Nodes: [");

	n += copy_list(ops, sizeof(ops), line, "Original ATen: [");
	if (!n)
		return false;
	(void)snprintf(out, VT_GENERATED_MAX, "%s%s%s%s", nodes, *nodes && *ops ? " (" : "", ops,
		       *nodes && *ops ? ")" : "");
	return true;
}

/* "fused mul_relu" of a call of "cpp_fused_mul_relu_0(" or "triton_poi_fused_mul_relu_0.run(". */
static bool text_of_kernel(char out[VT_GENERATED_MAX], const char *line)
{
	const char *fused = memmem(line, line_length(line), "_fused_", strlen("_fused_")), *end;
	size_t length;

	if (!fused)
		return false;
	fused += strlen("_fused_");
	length = strspn(fused, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	end = fused + length;
	while (end > fused && isdigit((unsigned char)end[-1]))
		end--;
	if (end > fused && end[-1] == '_')
		length = (size_t)(end - 1 - fused);
	(void)snprintf(out, VT_GENERATED_MAX, "fused %.*s", (int)(length < 150 ? length : 150), fused);
	return true;
}

/* Goes from a line to the one that fills its buffer, and tells what that one is for. False: nothing is said. */
static bool find_use(char out[VT_GENERATED_MAX], const char *start, const char *comment)
{
	const char *word = skip_blanks(start);
	size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_");
	const char *line = start;

	/* The line may do the work itself: "buf3 = extern_kernels.convolution(...)". */
	if (!has(word, "empty_strided"))
		return (comment && text_of_comment(out, comment)) || text_of_kernel(out, word);
	for (int ahead = 0; ahead < LINES_AHEAD; ahead++) {
		const char *text;

		line = next_line(line);
		text = skip_blanks(line);
		if (!*text)
			return false;
		if (*text == '#') {
			if (has(text, "Source Nodes: ["))
				comment = text;
			continue;
		}
		if (has_word(text, word, length) && strncmp(text, "del ", 4) != 0)
			return (comment && text_of_comment(out, comment)) || text_of_kernel(out, text);
		/* A comment belongs to the call below it. */
		if (!has(text, "empty_strided"))
			comment = NULL;
	}
	return false;
}

const char *vt_generated_text(char out[VT_GENERATED_MAX], const char *text, const char *path, uint32_t line)
{
	char graph[80] = "", what[VT_GENERATED_MAX] = "";
	const char *at = text, *comment = NULL;

	(void)copy_list(graph, sizeof(graph), text, "# AOT ID: ['");
	graph[strcspn(graph, "'")] = '\0';
	for (uint32_t number = 1; number < line && *at; number++) {
		const char *words = skip_blanks(at);

		if (words[0] != '#')
			comment = NULL;
		else if (has(words, "Source Nodes: ["))
			comment = words;
		at = next_line(at);
	}
	if (!*at || !find_use(what, at, comment))
		what[0] = '\0';
	if (*graph)
		(void)snprintf(out, VT_GENERATED_MAX, "graph %s%s%.150s", graph, *what ? ": " : "", what);
	else
		(void)snprintf(out, VT_GENERATED_MAX, "graph in %.60s%s%.150s", file_name(path), *what ? ": " : "",
			       what);
	return out;
}

char *vt_generated_read(const char *path)
{
	VT_CLEANUP(vt_closep) int fd = -1;
	struct stat info;
	ssize_t n = 0;
	char *text;

	if (!vt_is_generated_file(path))
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size > FILE_BYTES_MAX)
		return NULL;
	text = malloc((size_t)info.st_size + 1);
	if (!text)
		return NULL;
	for (ssize_t got = 1; got > 0 && n<info.st_size; n += got> 0 ? got : 0)
		got = read(fd, text + n, (size_t)(info.st_size - n));
	text[n] = '\0';
	return text;
}
