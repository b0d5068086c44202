/* open.c - see open.h. */
#include "analyze/commands/open.h"

#include <errno.h>
#include <string.h>

int vt_report_open(const struct vt_usage *usage, struct vt_common_options *common, int argc, char **argv,
		   struct vt_store **ret, struct vt_err *err)
{
	int operand;
	int r = vt_options_parse(usage, NULL, common, argc, argv, &operand, err);

	if (r)
		return r;
	if (operand == argc)
		return vt_err_set(err, VT_E_USAGE, "no FILE given (vramtrace %s --help)", usage->command);
	if (operand + 1 < argc)
		return vt_err_set(err, VT_E_USAGE, "one FILE at a time: '%s' is too much", argv[operand + 1]);
	return vt_store_open(ret, argv[operand], err);
}

void vt_store_closep(struct vt_store **store)
{
	vt_store_close(*store);
}

void vt_report_json_begin(struct vt_json *json, const char *command, const struct vt_store *store)
{
	vt_report_json_begin_file(json, command, vt_store_path(store));
}

void vt_report_json_begin_file(struct vt_json *json, const char *command, const char *path)
{
	vt_json_object(json);
	vt_json_put_object(json, "vramtrace");
	vt_json_put_u64(json, "schema", VT_JSON_SCHEMA);
	vt_json_put_string(json, "command", command);
	vt_json_put_string(json, "version", VT_VERSION);
	vt_json_object_end(json);
	vt_json_put_string(json, "file", path);
}

int vt_report_json_end(struct vt_json *json, int r, struct vt_err *err)
{
	int written = vt_json_done(json);

	if (r < 0)
		return r;
	return written < 0 ? vt_err_set(err, VT_E_IO, "standard output: %s", strerror(errno)) : 0;
}
