/* sigbus.c - see sigbus.h. */
#include "capture/collector/sigbus.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define WATCHED_MAX 1024

/* Documented globals: written by the collector's thread, read by the handler on the same thread. */
static struct {
	_Atomic uintptr_t start;
	_Atomic uintptr_t end; /* 0: a free place */
} watched[WATCHED_MAX];
static uintptr_t page_bytes;

static bool is_watched(uintptr_t address)
{
	for (size_t i = 0; i < WATCHED_MAX; i++)
		if (address >= watched[i].start && address < watched[i].end)
			return true;
	return false;
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	char *page = (char *)info->si_addr - ((uintptr_t)info->si_addr & (page_bytes - 1));

	(void)context;
	/* MAP_FIXED on a page of ours: mmap is no more than a system call, and safe here. */
	if (is_watched((uintptr_t)page) && mmap(page, page_bytes, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		return;
	/* Not ours: the fault happens again, and then ends the process. */
	(void)signal(number, SIG_DFL);
}

static void install(void)
{
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };

	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	(void)sigemptyset(&action.sa_mask);
	(void)sigaction(SIGBUS, &action, NULL);
}

void vt_sigbus_watch(const void *map, size_t bytes)
{
	install();
	for (size_t i = 0; i < WATCHED_MAX; i++) {
		if (watched[i].end)
			continue;
		watched[i].start = (uintptr_t)map;
		watched[i].end = (uintptr_t)map + bytes;
		return;
	}
}

void vt_sigbus_unwatch(const void *map)
{
	for (size_t i = 0; i < WATCHED_MAX; i++)
		if (watched[i].end && watched[i].start == (uintptr_t)map)
			watched[i].end = 0;
}
