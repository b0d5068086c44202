/* cupti_stage.c - see cupti_stage.h. */
#include "tests/fake/cupti_stage.h"

#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/agent/agent.h"
#include "capture/agent/config.h"
#include "schema/ring_read.h"

static void *map(const char *name)
{
	char path[512];
	void *library;

	(void)snprintf(path, sizeof(path), "%s/%s", VT_FAKE_DIR, name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail_msg("%s", dlerror());
	return library;
}

int stage_open(void **state)
{
	static struct stage stage;

	(void)snprintf(stage.session, sizeof(stage.session), "/tmp/vt_cupti_XXXXXX");
	assert_non_null(mkdtemp(stage.session));
	assert_int_equal(setenv(VT_ENV_SESSION, stage.session, 1), 0);
	assert_int_equal(unsetenv(VT_ENV_CUPTI), 0);
	assert_int_equal(setenv(VT_ENV_STACKS, "none", 1), 0);
	vt_config_load();
	stage.cuda = ((struct fake_cuda * (*)(void)) dlsym(map("libcuda.so.1"), "fake_cuda"))();
	stage.nvml = ((struct fake_nvml * (*)(void)) dlsym(map("libnvidia-ml.so.1"), "fake_nvml"))();
	stage.nvml->pid = (uint32_t)getpid();
	stage.nvml->used_bytes = 3000;
	*state = &stage;
	return 0;
}

void stage_map_cupti(struct stage *stage)
{
	void *library = map("libcupti.so.13");

	stage->cupti = (struct fake_cupti * (*)(void)) dlsym(library, "fake_cupti");
	*(void **)&stage->call = dlsym(library, "fake_cupti_call");
	*(void **)&stage->raise = dlsym(library, "fake_cupti_raise");
	assert_non_null(stage->cupti);
}

void stage_attach(void)
{
	struct vt_thread *thread = vt_agent_enter();

	assert_non_null(thread);
	vt_cupti_attach(thread);
	vt_agent_leave(thread);
}

/* The one ring file of the session; "" where nothing was recorded. */
static void ring_path(const struct stage *stage, char *ret_path, size_t bytes)
{
	DIR *directory = opendir(stage->session);
	struct dirent *entry;

	ret_path[0] = '\0';
	assert_non_null(directory);
	while ((entry = readdir(directory)) != NULL)
		if (strstr(entry->d_name, ".ring"))
			(void)snprintf(ret_path, bytes, "%s/%s", stage->session, entry->d_name);
	(void)closedir(directory);
}

int stage_close(void **state)
{
	const struct stage *stage = *state;
	char path[512];

	ring_path(stage, path, sizeof(path));
	if (path[0])
		assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(stage->session), 0);
	return 0;
}

static bool open_rings(const struct stage *stage, struct vt_ring_file *ret_file)
{
	struct vt_err err;
	char path[512];

	ring_path(stage, path, sizeof(path));
	if (!path[0])
		return false;
	assert_int_equal(vt_ring_file_open(ret_file, path, &err), 0);
	return true;
}

/* Calls fn for each record of a kind until it says stop. */
static void each_record(const struct stage *stage, uint16_t type, bool (*fn)(const struct vt_rec *, void *), void *arg)
{
	struct vt_ring_file file;
	uint64_t torn = 0;

	if (!open_rings(stage, &file))
		return;
	for (uint32_t i = 0; i < vt_ring_file_count(&file); i++) {
		const struct vt_ring *ring = vt_ring_file_ring(&file, i);
		uint64_t position = ring->start_position;
		uint64_t head = vt_ring_head(&file, i, position);
		const struct vt_rec *rec;

		while ((rec = vt_ring_next(&file, i, &position, head, &torn)) != NULL)
			if (rec->type == type && fn(rec, arg))
				break;
	}
	assert_int_equal(torn, 0);
	vt_ring_file_close(&file);
}

struct copies {
	char *to;
	size_t size, max, count;
};

static bool copy_record(const struct vt_rec *rec, void *arg)
{
	struct copies *copies = arg;

	assert_int_equal((size_t)rec->len8 * 8, copies->size);
	if (copies->count < copies->max)
		memcpy(copies->to + copies->count * copies->size, rec, copies->size);
	copies->count++;
	return false;
}

size_t stage_records(const struct stage *stage, uint16_t type, void *ret_records, size_t size, size_t max)
{
	struct copies copies = { .to = ret_records, .size = size, .max = max };

	each_record(stage, type, copy_record, &copies);
	return copies.count;
}

struct wanted_string {
	uint32_t id;
	char text[4097];
};

static bool look_at_string(const struct vt_rec *rec, void *arg)
{
	const struct vt_string *string = (const struct vt_string *)(const void *)rec;
	struct wanted_string *wanted = arg;

	if (string->id != wanted->id)
		return false;
	assert_in_range(string->size_bytes, 0, sizeof(wanted->text) - 1);
	memcpy(wanted->text, string + 1, string->size_bytes);
	wanted->text[string->size_bytes] = '\0';
	return true;
}

const char *stage_string(const struct stage *stage, uint32_t id)
{
	static struct wanted_string wanted;

	wanted.id = id;
	wanted.text[0] = '\0';
	if (id)
		each_record(stage, VT_EVENT_string, look_at_string, &wanted);
	return wanted.text;
}

struct wanted_note {
	uint32_t code;
	bool found;
	struct vt_note note;
};

static bool look_at_note(const struct vt_rec *rec, void *arg)
{
	struct wanted_note *wanted = arg;
	struct vt_note note;

	memcpy(&note, rec, sizeof(note));
	if (note.code == wanted->code) {
		wanted->found = true;
		wanted->note = note;
	}
	return false;
}

bool stage_note(const struct stage *stage, uint32_t code, struct vt_note *ret_note)
{
	struct wanted_note wanted = { .code = code };

	each_record(stage, VT_EVENT_note, look_at_note, &wanted);
	*ret_note = wanted.note;
	return wanted.found;
}

uint64_t stage_lost(const struct stage *stage, enum vt_loss why)
{
	struct vt_ring_file file;
	uint64_t lost = 0;

	if (!open_rings(stage, &file))
		return 0;
	for (uint32_t i = 0; i < vt_ring_file_count(&file); i++)
		lost += atomic_load(&vt_ring_file_ring(&file, i)->lost[why]);
	vt_ring_file_close(&file);
	return lost;
}
