/* print_facts.c - trace_facts of a file as one JSON object, for the end-to-end tests. */
#include <stdio.h>

#include "schema/base/json.h"
#include "tests/fake/trace_facts.h"

static void put_process(struct vt_json *json, const struct trace_process_facts *process)
{
	vt_json_object(json);
	vt_json_put_u64(json, "pid", process->pid);
	vt_json_put_i64(json, "end_state", process->end_state);
	vt_json_put_u64(json, "end_ns", process->end_ns);
	vt_json_put_u64(json, "allocs", process->allocs);
	vt_json_put_u64(json, "frees", process->frees);
	vt_json_put_u64(json, "events", process->events);
	vt_json_put_u64(json, "definitions", process->definitions);
	vt_json_put_u64(json, "ooms", process->ooms);
	vt_json_put_u64(json, "threads", process->threads);
	vt_json_put_u64(json, "thread_records", process->thread_records);
	vt_json_put_object(json, "lost");
	for (unsigned kind = 0; kind < VT_loss_END; kind++)
		if (process->lost[kind])
			vt_json_put_u64(json, vt_enum_text("loss", (int64_t)kind), process->lost[kind]);
	vt_json_object_end(json);
	vt_json_object_end(json);
}

int main(int argc, char **argv)
{
	static struct trace_facts facts;
	struct vt_json json;
	struct vt_err err;

	if (argc != 2 || trace_facts_read(&facts, argv[1], &err) < 0) {
		fprintf(stderr, "print_facts: %s\n", argc == 2 ? err.msg : "one file, please");
		return 1;
	}
	vt_json_init(&json, stdout, false);
	vt_json_object(&json);
	vt_json_put_array(&json, "processes");
	for (size_t i = 0; i < facts.nprocesses; i++)
		put_process(&json, &facts.processes[i]);
	vt_json_array_end(&json);
	vt_json_put_u64(&json, "chunks", facts.chunks);
	vt_json_put_u64(&json, "unsorted", facts.unsorted);
	vt_json_put_u64(&json, "doubled", facts.doubled);
	vt_json_put_u64(&json, "undefined", facts.undefined);
	vt_json_put_u64(&json, "clocks", facts.clocks);
	vt_json_object_end(&json);
	return vt_json_done(&json) < 0;
}
