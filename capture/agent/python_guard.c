/* python_guard.c - see python_guard.h. */
#include "capture/agent/python_guard.h"

#include <dlfcn.h>
#include <string.h>
#include <time.h>

#include "capture/agent/loader.h"
#include "capture/agent/state.h"

#define METH_NOARGS 4
/* A reader may have been preempted; it is done within microseconds of running. */
#define WAITS_MAX 40000
#define WAIT_NS 50000

typedef void object; /* PyObject */

/* PyMethodDef, the same in all versions. */
struct method {
	const char *name;
	object *(*function)(object *self, object *arguments);
	int flags;
	const char *doc;
};

/* Of the interpreter; constant once `state` is ASKED. */
static struct {
	int (*Py_AddPendingCall)(int (*)(void *), void *);
	object *(*PyImport_ImportModule)(const char *);
	object *(*PyCFunction_NewEx)(struct method *, object *, object *);
	object *(*PyObject_CallMethod)(object *, const char *, const char *, ...);
	void (*Py_IncRef)(object *);
	void (*Py_DecRef)(object *);
	void (*PyErr_Clear)(void);
	int (*PyGILState_Check)(void);
	object *none;
} python;

enum guard { NEVER, ASKED, ARMED, ENDING };

/* Survives fork, as the atexit function does. */
static _Atomic uint32_t state; /* enum guard */

/* Among the atexit functions: they run before the first thread state is freed. */
static object *close_door(object *self, object *arguments)
{
	const struct timespec wait = { .tv_nsec = WAIT_NS };
	struct vt_agent *agent = vt_agent_get();

	(void)self, (void)arguments;
	/* Sequentially consistent, as the readers' count: a reader has seen this, or is seen here. */
	atomic_store(&state, ENDING);
	for (int i = 0; i < WAITS_MAX && atomic_load(&agent->python_readers); i++)
		(void)nanosleep(&wait, NULL);
	python.Py_IncRef(python.none);
	return python.none;
}

/* The pending call: in the main thread, with the GIL. */
static int arm(void *unused)
{
	static struct method method = { "vramtrace_ends", close_door, METH_NOARGS, NULL };
	object *module = python.PyImport_ImportModule("atexit");
	object *function = module ? python.PyCFunction_NewEx(&method, NULL, NULL) : NULL;
	object *done = function ? python.PyObject_CallMethod(module, "register", "O", function) : NULL;
	uint32_t asked = ASKED;

	(void)unused;
	if (done)
		(void)atomic_compare_exchange_strong(&state, &asked, ARMED);
	else
		python.PyErr_Clear();
	if (done)
		python.Py_DecRef(done);
	if (function)
		python.Py_DecRef(function);
	if (module)
		python.Py_DecRef(module);
	return 0;
}

static bool find(void *library, const char *name, void *ret)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found && library)
		found = dlsym(library, name);
	memcpy(ret, &found, sizeof(found));
	return found != NULL;
}

void vt_python_guard_attach(void)
{
	void *library = dlsym(RTLD_DEFAULT, "Py_AddPendingCall") ? NULL : vt_loader_find("libpython3");
	uint32_t before = atomic_load(&state);

	if (before == ARMED || before == ENDING)
		return;
	if (!find(library, "Py_AddPendingCall", &python.Py_AddPendingCall) ||
	    !find(library, "PyImport_ImportModule", &python.PyImport_ImportModule) ||
	    !find(library, "PyCFunction_NewEx", &python.PyCFunction_NewEx) ||
	    !find(library, "PyObject_CallMethod", &python.PyObject_CallMethod) ||
	    !find(library, "Py_IncRef", &python.Py_IncRef) || !find(library, "Py_DecRef", &python.Py_DecRef) ||
	    !find(library, "PyErr_Clear", &python.PyErr_Clear) ||
	    !find(library, "PyGILState_Check", &python.PyGILState_Check) ||
	    !find(library, "_Py_NoneStruct", &python.none))
		return;
	atomic_store(&state, ASKED);
	/* Refused where 32 calls are waiting already: the main thread's stacks are there all the same. */
	(void)python.Py_AddPendingCall(arm, NULL);
}

enum vt_guarded vt_python_guard_enter(const struct vt_thread *thread)
{
	struct vt_agent *agent = vt_agent_get();
	uint32_t now;

	if (thread->tid == agent->shm->pid)
		return VT_GUARD_OPEN;
	now = atomic_load_explicit(&state, memory_order_acquire);
	if (now == ARMED) {
		(void)atomic_fetch_add(&agent->python_readers, 1);
		if (VT_LIKELY(atomic_load(&state) == ARMED))
			return VT_GUARD_COUNTED;
		(void)atomic_fetch_sub(&agent->python_readers, 1);
		return VT_GUARD_SHUT;
	}
	return now == ASKED && python.PyGILState_Check() ? VT_GUARD_OPEN : VT_GUARD_SHUT;
}

void vt_python_guard_leave(enum vt_guarded guarded)
{
	if (guarded == VT_GUARD_COUNTED)
		(void)atomic_fetch_sub_explicit(&vt_agent_get()->python_readers, 1, memory_order_release);
}
