/*
 * views_scenario.h - one small trace whose every number is made by hand: a training of two steps on a device of 1 GiB
 * that runs out of memory in the second. All sizes in MiB, times in ms after the start:
 *
 *    1  the device has 900 free; the process 60 (its context)
 *   10  cuMemAlloc A 20      weight    8    A+0    aten::empty            model.py:12 Net.__init__ < train.py:5 main
 *   12  cuMemAlloc S 2       workspace 0.5  S+0    no op                  no line
 *   20  cuMemAlloc B 200     activation 200 B+0    aten::linear>aten::mm  model.py:21 Net.forward < train.py:30 main
 *   25                       kept      2    A+8    aten::clone            train.py:40 main
 *   29.95  the device has 478 free; the process 482
 *   30  cuMemAlloc C 200     gradient  200  C+0    MmBackward0>aten::mm   none (autograd's thread)
 *   35  activation freed by MmBackward0, 40 gradient freed by no op
 *   41  Optimizer.step#SGD.step ends
 *   50                       activation 200 B+0    as before
 *   55                       kept      2    A+10   as before
 *   60                       gradient  150  C+0    as before
 *   65, 66  cuMemAlloc of 300 returns out of memory, twice
 *   67  OOM: 300 asked by aten::linear>aten::mm at model.py:21; the device has 42 free
 *
 * Peak: 30 ms, 8 + 0.5 + 200 + 2 + 200 = 410.5 allocated of 422 reserved. At the OOM 362.5 are allocated, 59.5 are not:
 * A 8 (at its end), S 1.5, C 50. Other processes: 1024 - 42 - 482 = 500.
 */
#ifndef VT_TESTS_VIEWS_SCENARIO_H
#define VT_TESTS_VIEWS_SCENARIO_H

/* Writes the trace; any failure ends the program. */
void vt_views_scenario(const char *path);

#endif
