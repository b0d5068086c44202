/*
 * python_lines.c - see python_lines.h. The three formats are documented in CPython: Objects/lnotab_notes.txt (to 3.9
 * and 3.10) and Objects/locations.md, later InternalDocs/code_objects.md (3.11 on).
 */
#include "analyze/symbols/python_lines.h"

#define PYTHON_3_10 0x030au
#define PYTHON_3_11 0x030bu

static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs: bytes of code, signed lines; a pair's lines count from the end of its bytes on. */
static uint32_t line_lnotab(const uint8_t *table, size_t bytes, uint32_t first_line, uint32_t instruction)
{
	int64_t line = first_line;
	uint64_t address = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		address += table[i];
		if (address > instruction)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

/* Pairs: bytes of code, signed lines (-128: these bytes have no line); a pair's lines hold for its own bytes. */
static uint32_t line_3_10(const uint8_t *table, size_t bytes, uint32_t first_line, uint32_t instruction)
{
	int64_t line = first_line;
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != INT8_MIN)
			line += delta;
		if (instruction < end)
			return delta == INT8_MIN ? 0 : as_line(line);
	}
	return 0;
}

/* Six bits a byte, least first; bit 6 says that more follow. The sign is the lowest bit of the whole. */
static int64_t read_signed_varint(const uint8_t *table, size_t bytes, size_t at)
{
	uint64_t value = 0;

	for (unsigned shift = 0; at < bytes && shift < 36; at++, shift += 6) {
		value |= (uint64_t)(table[at] & 0x3f) << shift;
		if (!(table[at] & 0x40))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

enum location {
	LOCATION_ONE_LINE_0 = 10, /* to 12: so many lines more */
	LOCATION_ONE_LINE_2 = 12,
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

/*
 * Entries: first byte 1, code (4 bits), length in code units - 1 (3 bits); the bytes that follow it have a clear
 * top bit, and how many lines the entry adds depends on the code. Columns are passed over.
 */
static uint32_t line_3_11(const uint8_t *table, size_t bytes, uint32_t first_line, uint32_t instruction)
{
	int64_t line = first_line;
	uint64_t end = 0;
	size_t at = 0;

	while (at < bytes) {
		unsigned code = table[at] >> 3 & 15;

		end += UINT64_C(2) * ((table[at] & 7u) + 1);
		at++;
		if (code >= LOCATION_ONE_LINE_0 && code <= LOCATION_ONE_LINE_2)
			line += code - LOCATION_ONE_LINE_0;
		else if (code == LOCATION_NO_COLUMNS || code == LOCATION_LONG)
			line += read_signed_varint(table, bytes, at);
		if (instruction < end)
			return code == LOCATION_NONE ? 0 : as_line(line);
		while (at < bytes && !(table[at] & 0x80))
			at++;
	}
	return 0;
}

uint32_t vt_python_line(uint32_t python, const uint8_t *table, size_t bytes, uint32_t first_line, uint32_t instruction)
{
	if (python >= PYTHON_3_11)
		return line_3_11(table, bytes, first_line, instruction);
	if (python >= PYTHON_3_10)
		return line_3_10(table, bytes, first_line, instruction);
	return line_lnotab(table, bytes, first_line, instruction);
}
