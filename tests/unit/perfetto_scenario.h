/*
 * perfetto_scenario.h - a trace with everything that is hard to show on a timeline: two processes that both call another
 * GPU "0", ops that begin or end together, that overlap without nesting and that enclose more ops than the exporter's
 * window holds, backward ops, kernels of graphs, launches whose kernel is missing and kernels whose launch is, texts that
 * are no UTF-8 or thousands of bytes long, losses. tests/e2e/perfetto_export.py holds the export against it.
 */
#ifndef VT_TESTS_PERFETTO_SCENARIO_H
#define VT_TESTS_PERFETTO_SCENARIO_H

/* Ops inside the op "epoch": more than VT_PF_WINDOW. */
#define PERFETTO_INNER_OPS 40000

/* Writes the trace; any failure ends the program. */
void vt_perfetto_scenario(const char *path);

#endif
