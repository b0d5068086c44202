/* nvtx_abi_check.c - capture/agent/nvtx_abi.h against NVIDIA's own header. Compiling it is the test. */
#include <stddef.h>

#include <nvtx3/nvToolsExt.h>

#include "capture/agent/nvtx_abi.h"

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define SAME_FIELD(field, their_field)                                                                                 \
	_Static_assert(offsetof(struct vt_nvtx_attributes, field) == offsetof(nvtxEventAttributes_t, their_field) &&   \
			       sizeof(((struct vt_nvtx_attributes *)0)->field) ==                                      \
				       sizeof(((nvtxEventAttributes_t *)0)->their_field),                              \
		       #their_field)

SAME_FIELD(version, version);
SAME_FIELD(size, size);
SAME_FIELD(category, category);
SAME_FIELD(color_type, colorType);
SAME_FIELD(color, color);
SAME_FIELD(payload_type, payloadType);
SAME_FIELD(payload, payload);
SAME_FIELD(message_type, messageType);
SAME_FIELD(message, message);
SAME(sizeof(struct vt_nvtx_attributes), sizeof(nvtxEventAttributes_t));
SAME(sizeof(struct vt_nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
SAME(offsetof(struct vt_nvtx_callbacks, get_table), offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
SAME(VT_NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(VT_NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(VT_NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME(VT_NVTX_NO_LEVEL, NVTX_NO_PUSH_POP_TRACKING);
SAME(VT_NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(VT_NVTX_MESSAGE_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(VT_NVTX_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(VT_NVTX_MARK_EX, NVTX_CBID_CORE_MarkEx);
SAME(VT_NVTX_MARK_A, NVTX_CBID_CORE_MarkA);
SAME(VT_NVTX_MARK_W, NVTX_CBID_CORE_MarkW);
SAME(VT_NVTX_RANGE_START_EX, NVTX_CBID_CORE_RangeStartEx);
SAME(VT_NVTX_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(VT_NVTX_RANGE_START_W, NVTX_CBID_CORE_RangeStartW);
SAME(VT_NVTX_RANGE_END, NVTX_CBID_CORE_RangeEnd);
SAME(VT_NVTX_RANGE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(VT_NVTX_RANGE_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(VT_NVTX_RANGE_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(VT_NVTX_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(VT_NVTX_NAME_OS_THREAD_A, NVTX_CBID_CORE_NameOsThreadA);
SAME(VT_NVTX_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
SAME(VT_NVTX_DOMAIN_RANGE_START_EX, NVTX_CBID_CORE2_DomainRangeStartEx);
SAME(VT_NVTX_DOMAIN_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(VT_NVTX_DOMAIN_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(VT_NVTX_DOMAIN_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(VT_NVTX_DOMAIN_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(VT_NVTX_DOMAIN_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(VT_NVTX_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME(VT_NVTX_DOMAIN_CREATE_W, NVTX_CBID_CORE2_DomainCreateW);
SAME(VT_NVTX_DOMAIN_DESTROY, NVTX_CBID_CORE2_DomainDestroy);
