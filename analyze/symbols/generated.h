/*
 * generated.h - what a line of a file that torch.compile generated stands for, from the comments that Inductor writes into
 * it. Part of symbols.
 *
 * The trace has the file's name and the line alone. The file lies in Inductor's cache; where it is not at hand the graph is
 * named by the file.
 */
#ifndef VT_ANALYZE_GENERATED_H
#define VT_ANALYZE_GENERATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest text that is given, with its NUL. */
#define VT_GENERATED_MAX 240

/* Whether a file's name is one of Inductor's: ".../torchinductor_me/ab/cab...xyz.py". */
bool vt_is_generated_file(const char *path);

/* The text of such a file, to be freed; NULL: it is not there, is no regular file, or larger than 16 MiB. */
char *vt_generated_read(const char *path);

/*
 * "graph 0_forward: y (aten.t, aten.addmm)", "graph 0_forward: fused mul_relu", "graph 0_forward", or of an empty text
 * "graph in cab...xyz.py".
 */
const char *vt_generated_text(char out[VT_GENERATED_MAX], const char *text, const char *path, uint32_t line);

#endif
