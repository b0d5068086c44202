/*
 * pf_gpus.h - the devices of the file as Perfetto numbers them, and what kernels and copies refer to: contexts, streams,
 * kernels.
 *
 * A process numbers the devices that it may see; two processes' device 0 need not be one device. Perfetto knows one list
 * of GPUs: devices of equal uuid are one entry, and where no uuid was captured, devices of equal number.
 */
#ifndef VT_ANALYZE_PF_GPUS_H
#define VT_ANALYZE_PF_GPUS_H

#include "analyze/perfetto/pf_tracks.h"

struct vt_pf_gpu {
	char name[128]; /* "" where it was not captured */
	char uuid[64];
	int16_t ordinal; /* of the first process that names it */
};

struct vt_pf_gpus {
	struct vt_pf_sequence *sequence; /* the render stages' */
	struct vt_pf_tracks *tracks;
	struct vt_pf_gpu *list; /* index: Perfetto's gpu_id */
	size_t count, room;
	struct vt_idmap devices; /* (process, ordinal, 0) -> place in ids */
	uint32_t *ids;		 /* gpu_id + 1; 0: not known yet */
	size_t id_room;
	struct vt_idmap contexts; /* (process, context, 0) -> iid - 1 */
	struct vt_idmap queues;	  /* (process, context, stream) -> iid - VT_PF_QUEUE_FIRST */
	struct vt_idmap configs;  /* (process, config id, 0) -> place in kernels */
	struct vt_kernel_config *kernels;
	uint64_t *kernel_names; /* iid of the short name; 0: not written yet */
	size_t kernel_room, name_room;
};

/* iids of gpu_specifications: the stages come first, then one per stream. */
enum { VT_PF_STAGE_KERNEL = 1, VT_PF_STAGE_COPY = 2, VT_PF_STAGE_SET = 3, VT_PF_QUEUE_FIRST = 4 };

/* Reads names and uuids from the notes, and the kernels' shapes; writes the list of GPUs and the stages. */
int vt_pf_gpus_begin(struct vt_pf_gpus *gpus, struct vt_pf_sequence *sequence, struct vt_pf_tracks *tracks,
		     struct vt_store *store, struct vt_err *err);
void vt_pf_gpus_done(struct vt_pf_gpus *gpus);

/* Perfetto's number of a process's device; it is made where it is not there. */
uint32_t vt_pf_gpus_id(struct vt_pf_gpus *gpus, uint32_t process, int16_t ordinal);
/* "NVIDIA H200" or "". */
const char *vt_pf_gpus_name(struct vt_pf_gpus *gpus, uint32_t process, int16_t ordinal);

/* iids; what they stand for is written before their first use. 0: no memory. */
uint64_t vt_pf_gpus_context(struct vt_pf_gpus *gpus, uint32_t process, uint32_t context);
uint64_t vt_pf_gpus_queue(struct vt_pf_gpus *gpus, uint32_t process, uint32_t context, uint32_t stream);

struct vt_pf_kernel {
	uint64_t name_iid;		       /* of its short name, an event name */
	uint64_t kernel_iid;		       /* 0: the shape is not in the file */
	const struct vt_kernel_config *config; /* NULL likewise */
};
struct vt_pf_kernel vt_pf_gpus_kernel(struct vt_pf_gpus *gpus, uint32_t process, uint32_t config);

#endif
