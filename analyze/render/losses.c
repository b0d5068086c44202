/* losses.c - see losses.h. */
#include "analyze/render/losses.h"

#include <inttypes.h>

#include "analyze/render/gaps.h"
#include "schema/base/format.h"

static const char *words_of(uint32_t kind)
{
	const char *words = vt_enum_text("loss", kind);

	return words ? words : "for a reason this version does not know";
}

struct total {
	uint32_t process; /* 0: all */
	uint64_t count;
};

static int add_row(void *arg, const struct vt_loss_row *row)
{
	struct total *total = arg;

	if (!total->process || total->process == row->process)
		total->count += row->count;
	return 0;
}

int vt_losses_total(struct vt_store *store, uint32_t process, uint64_t *ret, struct vt_err *err)
{
	struct total total = { .process = process };
	int r = vt_store_each_loss(store, add_row, &total, err);

	*ret = total.count;
	return r;
}

static int print_row(void *arg, const struct vt_loss_row *row)
{
	const struct vt_screen *screen = arg;
	char count[VT_FORMAT_MAX];

	if (row->count)
		vt_screen_text(screen, 2, "%s: %s (process %" PRIu32 ")", vt_format_count(count, row->count),
			       words_of(row->kind), row->process);
	return 0;
}

int vt_losses_print(const struct vt_screen *screen, struct vt_store *store, struct vt_err *err)
{
	struct vt_screen copy = *screen; /* callbacks take no const */
	const char *unread = vt_store_warning(store);
	char count[VT_FORMAT_MAX];
	uint64_t total = 0;
	int r = vt_gaps_print(screen, store, err);

	if (unread)
		vt_screen_text(screen, 0, "This file may not be all of its trace: %s.", unread);
	if (r == 0)
		r = vt_losses_total(store, 0, &total, err);
	if (r < 0)
		return r;
	if (!total) {
		vt_screen_text(screen, 0, "Nothing was lost while recording.");
		return 0;
	}
	vt_screen_text(screen, 0, "%s events were lost while recording: what is said above does not cover them.",
		       vt_format_count(count, total));
	return vt_store_each_loss(store, print_row, &copy, err);
}

static int json_row(void *arg, const struct vt_loss_row *row)
{
	struct vt_json *json = arg;

	if (!row->count)
		return 0;
	vt_json_object(json);
	vt_json_put_u64(json, "process", row->process);
	vt_json_put_string(json, "kind", words_of(row->kind));
	vt_json_put_u64(json, "count", row->count);
	vt_json_object_end(json);
	return 0;
}

int vt_losses_json(struct vt_json *json, struct vt_store *store, struct vt_err *err)
{
	const char *unread = vt_store_warning(store);
	int r;

	if (unread)
		vt_json_put_string(json, "unread", unread);
	vt_json_put_array(json, "losses");
	r = vt_store_each_loss(store, json_row, json, err);
	vt_json_array_end(json);
	return r < 0 ? r : vt_gaps_json(json, store, err);
}
