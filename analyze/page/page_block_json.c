/* page_block_json.c - see page_json.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/page/page_json.h"
#include "analyze/symbols/kernel_name.h"
#include "analyze/symbols/table.h"

/* Callers of an op or a frame; deeper ones are left out. */
#define CHAIN_MAX 1024
#define NAME_MAX_BYTES 2048

static int take_config(void *arg, uint32_t process, const struct vt_rec *rec)
{
	const struct vt_kernel_config *config = (const struct vt_kernel_config *)(const void *)rec;
	struct vt_page_names *names = arg;

	return vt_map_put(&names->kernel_names, vt_symbols_key(process, config->id),
			  config->name < VT_MAP_NONE ? config->name : 0);
}

int vt_page_names_begin(struct vt_page_names *names, struct vt_err *err)
{
	int r = vt_store_each_record(names->page->session->store, vt_event_find(VT_EVENT_kernel_config), take_config,
				     names, err);

	return r == -VT_E_NOMEM ? vt_err_set(err, VT_E_NOMEM, "no memory for the names of kernels") : r;
}

static uint32_t number_of(struct vt_page_names *names, struct vt_idmap *map, uint32_t process, uint32_t id)
{
	uint32_t number = vt_idmap_add(map, (struct vt_idmap_key){ process, id, 0 });

	names->failed |= number == VT_IDMAP_NONE;
	return number;
}

static void put_number(struct vt_page_names *names, struct vt_json *json, struct vt_idmap *map, uint32_t process,
		       uint32_t id)
{
	vt_json_i64(json, id ? (int64_t)number_of(names, map, process, id) : -1);
}

static void put_touches(struct vt_page_names *names, struct vt_json *json, const struct vt_page_block *block)
{
	const struct vt_session *session = names->page->session;

	vt_json_u64(json, block->touches);
	vt_json_u64(json, block->touches ? vt_session_relative_ns(session, block->first_touch_ns) : 0);
	vt_json_u64(json, block->touches ? vt_session_relative_ns(session, block->last_touch_ns) : 0);
	vt_json_array(json);
	for (uint32_t i = 0; i < block->nkernels; i++) {
		vt_json_u64(json, number_of(names, &names->kernels, block->block.process, block->kernels[i]));
		vt_json_u64(json, block->kernel_counts[i]);
	}
	vt_json_array_end(json);
}

static void put_block(struct vt_page_names *names, struct vt_json *json, const struct vt_page_block *kept)
{
	const struct vt_session *session = names->page->session;
	const struct vt_attributed *block = &kept->block;
	char address[24];

	(void)snprintf(address, sizeof(address), "0x%" PRIx64, block->address);
	vt_json_array(json);
	vt_json_string(json, address);
	vt_json_u64(json, block->size_bytes);
	vt_json_u64(json, vt_session_relative_ns(session, block->alloc_ns));
	if (block->free_ns == UINT64_MAX)
		vt_json_i64(json, -1);
	else
		vt_json_u64(json, vt_session_relative_ns(session, block->free_ns));
	vt_json_u64(json, block->thread);
	vt_json_string(json, vt_category_name((enum vt_category)block->category));
	vt_json_string(json, vt_confidence_name((enum vt_confidence)block->confidence));
	vt_json_string(json, vt_phase_name((enum vt_phase)block->phase));
	vt_json_i64(json, block->step == VT_STEP_UNKNOWN ? -1 : (int64_t)block->step);
	put_number(names, json, &names->ops, block->process, block->op);
	put_number(names, json, &names->frames, block->process, block->stack);
	put_number(names, json, &names->ops, block->process, block->forward_op);
	put_number(names, json, &names->frames, block->process, block->forward_stack);
	put_touches(names, json, kept);
	vt_json_array_end(json);
}

void vt_page_put_blocks(const struct vt_page *page, struct vt_json *json, struct vt_page_names *names, uint32_t device)
{
	vt_json_put_array(json, "blocks");
	for (size_t i = 0; i < page->blocks.count; i++)
		if (page->blocks.list[i].block.device == device)
			put_block(names, json, &page->blocks.list[i]);
	vt_json_array_end(json);
}

/* The list grows while it is written: callers come behind those they call. */
static void put_ops(struct vt_page_names *names, struct vt_json *json)
{
	vt_json_put_array(json, "ops");
	for (uint32_t i = 0; i < names->ops.count && !names->failed; i++) {
		struct vt_idmap_key key = names->ops.keys[i];
		struct vt_op_info op;

		(void)vt_symbols_op(names->page->session->symbols, key.a, key.b, &op);
		vt_json_array(json);
		vt_page_put_text(json, op.name);
		put_number(names, json, &names->ops, key.a, op.parent);
		vt_json_array_end(json);
	}
	vt_json_array_end(json);
}

static void put_frames(struct vt_page_names *names, struct vt_json *json)
{
	vt_json_put_array(json, "frames");
	for (uint32_t i = 0; i < names->frames.count && !names->failed; i++) {
		struct vt_idmap_key key = names->frames.keys[i];
		struct vt_frame_info frame = { .function = "", .file = "" };

		(void)vt_symbols_frame(names->page->session->symbols, key.a, key.b, &frame);
		vt_json_array(json);
		vt_page_put_text(json, frame.function);
		vt_page_put_text(json, frame.file);
		vt_json_u64(json, frame.line);
		put_number(names, json, &names->frames, key.a, frame.parent);
		vt_json_array_end(json);
	}
	vt_json_array_end(json);
}

void vt_page_names_put(struct vt_page_names *names, struct vt_json *json)
{
	char text[NAME_MAX_BYTES];

	put_ops(names, json);
	put_frames(names, json);
	vt_json_put_array(json, "kernels");
	for (uint32_t i = 0; i < names->kernels.count; i++) {
		const struct vt_idmap_key *key = &names->kernels.keys[i];
		uint32_t name = vt_map_find(&names->kernel_names, vt_symbols_key(key->a, key->b));
		const char *whole =
			vt_symbols_string(names->page->session->symbols, key->a, name == VT_MAP_NONE ? 0 : name);

		vt_page_put_text(json, vt_kernel_short_name(whole, text, sizeof(text)));
	}
	vt_json_array_end(json);
}

void vt_page_names_done(struct vt_page_names *names)
{
	vt_idmap_done(&names->ops);
	vt_idmap_done(&names->frames);
	vt_idmap_done(&names->kernels);
	vt_map_done(&names->kernel_names);
}
