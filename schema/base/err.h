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

/*
 * vt_err_set(err, code, format, ...) fills err (NULL is fine) and is -code, so a failing path is one line. A macro, so
 * that compilers and analyzers see that the result is negative. code is evaluated twice.
 */
#define vt_err_set(err, code, ...) (vt_err_fill((err), (code), __VA_ARGS__), vt_err_result(code))
static inline int vt_err_result(enum vt_errc code)
{
	return -(int)code;
}
__attribute__((format(printf, 3, 4), cold)) void vt_err_fill(struct vt_err *err, enum vt_errc code, const char *fmt,
							     ...);
/* Puts context in front: "chunk 7: column start: ...". Returns what err holds. */
__attribute__((format(printf, 2, 3), cold)) int vt_err_prefix(struct vt_err *err, const char *fmt, ...);
const char *vt_errc_name(enum vt_errc code);
int vt_errc_exit_status(enum vt_errc code);

#endif
