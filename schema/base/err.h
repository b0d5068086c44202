/* err.h - one error object for everything outside the agent. */
#ifndef VT_BASE_ERR_H
#define VT_BASE_ERR_H

enum vt_errc {
#define ERR(NAME, exit_status, doc) VT_E_##NAME,
#include "schema/base/err.def"
	VT_E_COUNT
};

struct vt_err {
	enum vt_errc code;
	int sys_errno;
	char msg[480];
};

/* Fills err (NULL is fine) and returns -code, so a failing path is one line. */
__attribute__((format(printf, 3, 4), cold)) int vt_err_set(struct vt_err *err, enum vt_errc code, const char *fmt, ...);
/* Puts context in front: "chunk 7: column start: ...". Returns what err holds. */
__attribute__((format(printf, 2, 3), cold)) int vt_err_prefix(struct vt_err *err, const char *fmt, ...);
const char *vt_errc_name(enum vt_errc code);
int vt_errc_exit_status(enum vt_errc code);

#endif
