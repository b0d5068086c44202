/* session_print.c - see session.h: what all reports print alike. */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/commands/open.h"
#include "analyze/views/session.h"

const char *vt_session_device_label(char out[VT_FORMAT_MAX], const struct vt_device *device)
{
	const char *type = vt_enum_text("device_type", device->device_type);

	if (device->device < 0)
		(void)snprintf(out, VT_FORMAT_MAX, "%s", type ? type : "?");
	else
		(void)snprintf(out, VT_FORMAT_MAX, "%s:%d", type ? type : "?", device->device);
	return out;
}

void vt_session_json_begin(const struct vt_session *session, struct vt_json *json, const char *command)
{
	vt_report_json_begin(json, command, session->store);
	vt_json_put_array(json, "processes");
	for (size_t i = 0; i < session->nprocesses; i++) {
		const struct vt_process_row *row = &session->processes[i];

		if (session->process && session->process != row->id)
			continue;
		vt_json_object(json);
		vt_json_put_u64(json, "process", row->id);
		vt_json_put_u64(json, "pid", row->pid);
		vt_json_put_string(json, "command", row->command);
		vt_json_put_u64(json, "start_ns", vt_session_relative_ns(session, row->start_ns));
		vt_json_name(json, "end_ns");
		if (row->end_ns)
			vt_json_u64(json, vt_session_relative_ns(session, row->end_ns));
		else
			vt_json_null(json);
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
}

void vt_session_json_device(const struct vt_session *session, struct vt_json *json, const struct vt_device *device)
{
	const char *type = vt_enum_text("device_type", device->device_type);
	const char *name = vt_session_device_name(session, device);

	vt_json_put_u64(json, "process", device->process);
	vt_json_put_i64(json, "device", device->device);
	vt_json_put_string(json, "device_type", type ? type : "?");
	vt_json_name(json, "name");
	if (name)
		vt_json_string(json, name);
	else
		vt_json_null(json);
}

void vt_session_print_device(const struct vt_session *session, const struct vt_screen *screen, uint32_t index)
{
	const struct vt_device *device = vt_replay_device(session->replay, index);
	const struct vt_process_row *process = vt_session_process(session, device->process);
	const char *name = vt_session_device_name(session, device);
	char label[VT_FORMAT_MAX], text[256], pid[32] = "";

	vt_session_device_label(label, device);
	if (process)
		(void)snprintf(pid, sizeof(pid), " (pid %" PRIu32 ")", process->pid);
	(void)snprintf(text, sizeof(text), "%s%s%.80s%s, process %" PRIu32 "%s", label, name ? " (" : "",
		       name ? name : "", name ? ")" : "", device->process, pid);
	vt_screen_heading(screen, text);
}
