/* test_python_guard.c - the end of the interpreter waits for who reads, and for nobody else. The interpreter is played. */
#include "capture/agent/python_guard.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/agent_rig.h"

#define API __attribute__((visibility("default")))

/* The least that the guard waits for a reader that does not leave is two seconds. */
#define SOON_NS UINT64_C(1000000000)
#define READS_NS 100000000

/* PyMethodDef, as far as it is used. */
struct method {
	const char *name;
	void *(*function)(void *self, void *arguments);
};

API int Py_AddPendingCall(int (*function)(void *), void *arg);
API void *PyImport_ImportModule(const char *name);
API void *PyCFunction_NewEx(struct method *method, void *self, void *module);
API void *PyObject_CallMethod(void *object, const char *name, const char *format, ...);
API void Py_IncRef(void *object);
API void Py_DecRef(void *object);
API void PyErr_Clear(void);
API int PyGILState_Check(void);
extern API long _Py_NoneStruct;

long _Py_NoneStruct;
static int (*pending)(void *);
static struct method *at_exit;
static int has_gil;

int Py_AddPendingCall(int (*function)(void *), void *arg)
{
	(void)arg;
	pending = function;
	return 0;
}

void *PyImport_ImportModule(const char *name)
{
	return strcmp(name, "atexit") ? NULL : &_Py_NoneStruct;
}

void *PyCFunction_NewEx(struct method *method, void *self, void *module)
{
	(void)self, (void)module;
	return method;
}

void *PyObject_CallMethod(void *object, const char *name, const char *format, ...)
{
	va_list arguments;

	assert_ptr_equal(object, &_Py_NoneStruct);
	assert_string_equal(name, "register");
	va_start(arguments, format);
	at_exit = va_arg(arguments, struct method *);
	va_end(arguments);
	return &_Py_NoneStruct;
}

void Py_IncRef(void *object)
{
	(void)object;
}

void Py_DecRef(void *object)
{
	(void)object;
}

void PyErr_Clear(void)
{
}

int PyGILState_Check(void)
{
	return has_gil;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* What another thread is told: enters once. */
static void *enter_once(void *arg)
{
	struct vt_thread *thread = vt_agent_enter();
	enum vt_guarded *ret = arg;

	*ret = vt_python_guard_enter(thread);
	vt_python_guard_leave(*ret);
	vt_agent_leave(thread);
	return NULL;
}

static enum vt_guarded elsewhere(void)
{
	enum vt_guarded guarded = VT_GUARD_SHUT;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, enter_once, &guarded), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	return guarded;
}

/* A thread that reads until it is told to go, and then a while longer. */
static pthread_barrier_t inside, go;
static _Atomic int has_left;

static void *read_long(void *arg)
{
	const struct timespec reading = { .tv_nsec = READS_NS };
	struct vt_thread *thread = vt_agent_enter();
	enum vt_guarded *ret = arg;

	*ret = vt_python_guard_enter(thread);
	(void)pthread_barrier_wait(&inside);
	(void)pthread_barrier_wait(&go);
	(void)nanosleep(&reading, NULL);
	atomic_store(&has_left, 1);
	vt_python_guard_leave(*ret);
	vt_agent_leave(thread);
	return NULL;
}

static void test_threads_without_the_gil_wait_for_the_atexit_function(void **state)
{
	enum vt_guarded own;
	struct vt_thread *thread;

	(void)state;
	assert_int_equal(elsewhere(), VT_GUARD_SHUT);
	vt_python_guard_attach();
	assert_non_null(pending);
	assert_int_equal(elsewhere(), VT_GUARD_SHUT);
	has_gil = 1;
	assert_int_equal(elsewhere(), VT_GUARD_OPEN);
	has_gil = 0;
	assert_int_equal(pending(NULL), 0);
	assert_non_null(at_exit);
	assert_int_equal(elsewhere(), VT_GUARD_COUNTED);
	/* The main thread is never in anybody's way. */
	thread = vt_agent_enter();
	own = vt_python_guard_enter(thread);
	vt_python_guard_leave(own);
	vt_agent_leave(thread);
	assert_int_equal(own, VT_GUARD_OPEN);
}

static void test_the_end_waits_for_who_reads_and_a_child_does_not(void **state)
{
	enum vt_guarded guarded = VT_GUARD_SHUT;
	pthread_t thread;
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(pthread_barrier_init(&inside, NULL, 2), 0);
	assert_int_equal(pthread_barrier_init(&go, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, read_long, &guarded), 0);
	(void)pthread_barrier_wait(&inside);
	assert_int_equal(guarded, VT_GUARD_COUNTED);

	/* It ends without ever having recorded: nothing of the agent's has begun anew. */
	child = fork();
	if (child == 0) {
		uint64_t begin = now_ns();

		(void)at_exit->function(NULL, NULL);
		_exit(now_ns() - begin >= SOON_NS);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);

	(void)pthread_barrier_wait(&go);
	assert_ptr_equal(at_exit->function(NULL, NULL), &_Py_NoneStruct);
	assert_int_equal(atomic_load(&has_left), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(elsewhere(), VT_GUARD_SHUT);
}

static int start(void **state)
{
	(void)state;
	rig_start();
	return 0;
}

static int finish(void **state)
{
	(void)state;
	rig_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_without_the_gil_wait_for_the_atexit_function),
		cmocka_unit_test(test_the_end_waits_for_who_reads_and_a_child_does_not),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
