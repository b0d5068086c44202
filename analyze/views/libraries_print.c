/* libraries_print.c - driver memory by library, as text and JSON: see report.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/views/report.h"

static const char *library_name(const struct vt_session *session, uint32_t process, uint32_t caller)
{
	const char *path = caller ? vt_symbols_string(session->symbols, process, caller) : "";
	const char *slash = strrchr(path, '/');

	return !*path ? "(not known)" : slash && slash[1] ? slash + 1 : path;
}

int vt_report_print_libraries(const struct vt_report *report, const struct vt_screen *screen, uint32_t device,
			      struct vt_err *err)
{
	const struct vt_session *session = report->session;
	uint32_t process = vt_replay_device(session->replay, device)->process;
	bool at_peak = session->moment == VT_MOMENT_PEAK;
	struct vt_library_use *uses = NULL;
	struct vt_table *table;
	char text[VT_FORMAT_MAX];
	size_t count;
	int r = vt_libraries_list(report->libraries, device, at_peak, &uses, &count, err);

	if (r < 0 || !count) {
		free(uses);
		return r;
	}
	table = vt_table_new();
	vt_table_column(table, "Driver memory by library", VT_ALIGN_LEFT, true);
	vt_table_column(table, "Calls", VT_ALIGN_RIGHT, false);
	vt_table_column(table, at_peak ? "Held at the peak" : "Held then", VT_ALIGN_RIGHT, false);
	for (size_t i = 0; i < count; i++) {
		vt_table_cell(table, "%s", library_name(session, process, uses[i].caller));
		vt_table_cell(table, "%s", vt_format_count(text, uses[i].calls));
		vt_table_cell(table, "%s",
			      vt_format_signed_bytes(text, at_peak ? uses[i].peak_bytes : uses[i].held_bytes));
	}
	free(uses);
	if (vt_table_print(table, screen) < 0)
		return vt_err_set(err, VT_E_NOMEM, "no memory for a table");
	(void)putc('\n', screen->out);
	return 0;
}

int vt_report_json_libraries(const struct vt_report *report, struct vt_json *json, uint32_t device, struct vt_err *err)
{
	const struct vt_session *session = report->session;
	uint32_t process = vt_replay_device(session->replay, device)->process;
	struct vt_library_use *uses = NULL;
	size_t count = 0;
	int r = vt_libraries_list(report->libraries, device, session->moment == VT_MOMENT_PEAK, &uses, &count, err);

	vt_json_put_array(json, "driver_libraries");
	for (size_t i = 0; i < count; i++) {
		vt_json_object(json);
		vt_json_name(json, "library");
		if (uses[i].caller)
			vt_json_string(json, vt_symbols_string(session->symbols, process, uses[i].caller));
		else
			vt_json_null(json);
		vt_json_put_u64(json, "calls", uses[i].calls);
		vt_json_put_i64(json, "peak_bytes", uses[i].peak_bytes);
		vt_json_put_i64(json, "held_bytes", uses[i].held_bytes);
		vt_json_object_end(json);
	}
	vt_json_array_end(json);
	free(uses);
	return r;
}
