/* views.c - temporary views that answer common questions; docs/sql.md lists them. See sql.h. */
#include "analyze/sql/sql.h"

static const char views[] =
	/* Who held memory at the peak of each device. */
	"CREATE TEMP VIEW holders_at_peak AS SELECT process, device_type, device, category, op_name, stack_line,"
	" count(*) AS blocks, sum(size_bytes) AS live_bytes FROM live_at('peak')"
	" GROUP BY process, device_type, device, category, op_name, stack_line ORDER BY live_bytes DESC;"
	"CREATE TEMP VIEW holders_at_end AS SELECT process, device_type, device, category, op_name, stack_line,"
	" count(*) AS blocks, sum(size_bytes) AS live_bytes FROM live_at('end')"
	" GROUP BY process, device_type, device, category, op_name, stack_line ORDER BY live_bytes DESC;"
	/* The rows of oom with their texts. */
	"CREATE TEMP VIEW ooms AS SELECT process, time_ns, device, requested_bytes, allocated_bytes, reserved_bytes,"
	" device_free_bytes, device_total_bytes, op_name(process, op) AS op_name,"
	" stack_line(process, stack) AS stack_line FROM main.oom ORDER BY time_ns;"
	/* What was lost while recording, by kind. */
	"CREATE TEMP VIEW losses AS SELECT process, kind, count FROM main.loss WHERE count > 0;"
	/* Kernels by name. */
	"CREATE TEMP VIEW kernel_time AS SELECT config_name AS kernel, count(*) AS launches,"
	" sum(end_ns - start_ns) AS busy_ns, min(end_ns - start_ns) AS min_ns, max(end_ns - start_ns) AS max_ns"
	" FROM kernel GROUP BY config_name ORDER BY busy_ns DESC;"
	/* Copies by kind and the memory they go between. */
	"CREATE TEMP VIEW copy_time AS SELECT kind_text, source_text, target_text, count(*) AS copies,"
	" sum(size_bytes) AS size_bytes, sum(end_ns - start_ns) AS busy_ns FROM copy"
	" GROUP BY kind_text, source_text, target_text ORDER BY size_bytes DESC;"
	/* What each step allocated, by what it was for. */
	"CREATE TEMP VIEW step_memory AS SELECT process, device_type, device, step, category, count(*) AS blocks,"
	" sum(size_bytes) AS allocated_bytes FROM allocation GROUP BY process, device_type, device, step, category;";

int vt_sql_make_views(sqlite3 *db)
{
	return sqlite3_exec(db, views, NULL, NULL, NULL);
}
