/* losses.h - what the capture could not write down: the foot of every report. */
#ifndef VT_ANALYZE_LOSSES_H
#define VT_ANALYZE_LOSSES_H

#include "analyze/render/table.h"
#include "schema/base/json.h"
#include "schema/store.h"

/*
 * The gaps (gaps.h), what of the file cannot be read here, and one paragraph: that nothing was lost, or what, how much
 * and why.
 */
int vt_losses_print(const struct vt_screen *screen, struct vt_store *store, struct vt_err *err);
/* "losses": [{"process", "kind", "count"}], "gaps", and "unread" where there is such, into the object under way. */
int vt_losses_json(struct vt_json *json, struct vt_store *store, struct vt_err *err);
/* All kinds of one process (0: of all) together. */
int vt_losses_total(struct vt_store *store, uint32_t process, uint64_t *ret, struct vt_err *err);

#endif
