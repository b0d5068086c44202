/*
 * trace_builder.h - makes small traces for tests, through the store's own writer. Every failure ends the test program
 * with a message: callers check nothing.
 *
 *   struct vt_builder *b = vt_builder_new(path);
 *   uint32_t p = vt_builder_process(b, 4242, -1, "python train.py");
 *   uint32_t op = vt_builder_op(b, p, 0, "aten::mm", VT_op_scope_FUNCTION);
 *   uint32_t main_line = vt_builder_stack(b, p, 0, "main", "/home/me/train.py", 12);
 *   vt_builder_reserve(b, p, 0, 20 << 20);
 *   vt_builder_alloc(b, p, &(struct vt_tensor){ .time_ns = 100, .address = 0x1000, .size_bytes = 512, .op = op,
 *                                               .stack = main_line, .device_type = VT_device_type_CUDA });
 *   vt_builder_free(b, p, 200, 0, 0x1000);
 *   vt_builder_close(b);
 */
#ifndef VT_TESTS_TRACE_BUILDER_H
#define VT_TESTS_TRACE_BUILDER_H

#include <stdint.h>

#include "schema/event.h"

struct vt_builder;

/* An existing trace at path is replaced. */
struct vt_builder *vt_builder_new(const char *path);
/* Writes what is pending, finishes the file, frees the builder. */
void vt_builder_close(struct vt_builder *builder);
/* Ends the chunks under way: events after this come in new ones. */
void vt_builder_flush(struct vt_builder *builder);

/* Returns the process's id in the file. rank -1: none. */
uint32_t vt_builder_process(struct vt_builder *builder, uint32_t pid, int32_t rank, const char *command);
/* Ids in the process; each call gives a new one, except that equal texts give equal strings. */
uint32_t vt_builder_string(struct vt_builder *builder, uint32_t process, const char *text);
uint32_t vt_builder_op(struct vt_builder *builder, uint32_t process, uint32_t parent, const char *name, uint32_t scope);
uint32_t vt_builder_stack(struct vt_builder *builder, uint32_t process, uint32_t parent, const char *function,
			  const char *file, uint32_t line);
/* Addresses among a launch's parameters: the id that its column `touches` holds. */
uint32_t vt_builder_touch(struct vt_builder *builder, uint32_t process, const uint64_t *addresses, uint32_t count);

/*
 * Events. The record's header is filled in. alloc and free keep the running totals of each (process, device type,
 * device) and put them into allocated_bytes and reserved_bytes, which callers leave 0; thread 0 becomes 1.
 */
void vt_builder_alloc(struct vt_builder *builder, uint32_t process, const struct vt_tensor *tensor);
/* Frees the CUDA block at (device, address), which must be live. */
void vt_builder_free(struct vt_builder *builder, uint32_t process, uint64_t time_ns, int16_t device, uint64_t address);
/* The reserved total of a CUDA device from now on. */
void vt_builder_reserve(struct vt_builder *builder, uint32_t process, int16_t device, uint64_t bytes);
/* Any event, as it stands: struct vt_<name> for VT_EVENT_<name>. */
void vt_builder_event(struct vt_builder *builder, uint32_t process, uint32_t kind, const void *record);
void vt_builder_note(struct vt_builder *builder, uint32_t process, uint64_t time_ns, uint32_t code, uint64_t value,
		     const char *text);
void vt_builder_loss(struct vt_builder *builder, uint32_t process, uint32_t kind, uint64_t count);

#endif
