/* python_lines.h - the line of an instruction, from a code object's line table, for every CPython from 3.6 on. */
#ifndef VT_ANALYZE_PYTHON_LINES_H
#define VT_ANALYZE_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * python: PY_VERSION_HEX >> 16; table: co_lnotab up to 3.9, co_linetable from 3.10 on; instruction: byte offset in the
 * code. 0: the table gives no line for it. Takes any bytes.
 */
uint32_t vt_python_line(uint32_t python, const uint8_t *table, size_t bytes, uint32_t first_line, uint32_t instruction);

#endif
