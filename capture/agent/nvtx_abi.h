/*
 * nvtx_abi.h - the binary interface between a library that has NVTX v3 inside and a tool: what a tool is handed, which
 * functions it may put where. Own declarations; tests/abi/nvtx_abi_check.c compares them with NVIDIA's header.
 *
 * Every library or program with NVTX in it has its own copy of the function table, and calls InitializeInjectionNvtx2 of
 * the library that NVTX_INJECTION64_PATH names at its own first use: once for each copy.
 */
#ifndef VT_AGENT_NVTX_ABI_H
#define VT_AGENT_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

#define VT_NVTX_TABLE_CALLBACKS 1u
#define VT_NVTX_MODULE_CORE 1
#define VT_NVTX_MODULE_CORE2 5

/* What a push or pop returns where nobody counts levels. */
#define VT_NVTX_NO_LEVEL (-2)

enum vt_nvtx_core {
	VT_NVTX_MARK_EX = 1,
	VT_NVTX_MARK_A = 2,
	VT_NVTX_MARK_W = 3,
	VT_NVTX_RANGE_START_EX = 4,
	VT_NVTX_RANGE_START_A = 5,
	VT_NVTX_RANGE_START_W = 6,
	VT_NVTX_RANGE_END = 7,
	VT_NVTX_RANGE_PUSH_EX = 8,
	VT_NVTX_RANGE_PUSH_A = 9,
	VT_NVTX_RANGE_PUSH_W = 10,
	VT_NVTX_RANGE_POP = 11,
	VT_NVTX_NAME_OS_THREAD_A = 14,
};

enum vt_nvtx_core2 {
	VT_NVTX_DOMAIN_MARK_EX = 1,
	VT_NVTX_DOMAIN_RANGE_START_EX = 2,
	VT_NVTX_DOMAIN_RANGE_END = 3,
	VT_NVTX_DOMAIN_RANGE_PUSH_EX = 4,
	VT_NVTX_DOMAIN_RANGE_POP = 5,
	VT_NVTX_DOMAIN_REGISTER_STRING_A = 10,
	VT_NVTX_DOMAIN_REGISTER_STRING_W = 11,
	VT_NVTX_DOMAIN_CREATE_A = 12,
	VT_NVTX_DOMAIN_CREATE_W = 13,
	VT_NVTX_DOMAIN_DESTROY = 14,
};

enum vt_nvtx_message { VT_NVTX_MESSAGE_ASCII = 1, VT_NVTX_MESSAGE_UNICODE = 2, VT_NVTX_MESSAGE_REGISTERED = 3 };

/* What the program says of a mark or range. Later versions may be longer. */
struct vt_nvtx_attributes {
	uint16_t version;
	uint16_t size; /* bytes of the program's struct */
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type; /* enum vt_nvtx_message */
	const void *message;  /* char, wchar_t, or what registering a string returned */
};

typedef void vt_nvtx_function(void);

/* The table a tool may ask for: *ret_table[id] is the place of the function pointer of that id, or NULL. */
struct vt_nvtx_callbacks {
	size_t struct_size;
	int (*get_table)(int module, vt_nvtx_function ****ret_table, unsigned *ret_size);
};

typedef const void *vt_nvtx_get_table_fn(uint32_t table);

#endif
