#!/bin/sh
# bench_agent.sh AGENT FAKE_DIR: ns per event of the agent, medians of 21 batches; one process a row.
set -eu
agent=$1 fake=$2 here=$(dirname "$0") python=${VT_BENCH_PYTHON:-python3}
work=$(mktemp -d /dev/shm/vt-bench.XXXXXX)
trap 'rm -rf "$work"' EXIT

# row TEXT KIND DEPTH ENVIRONMENT...
row() {
	text=$1 kind=$2 depth=$3
	shift 3
	rm -rf "$work/session" && mkdir "$work/session"
	printf '%-66s %8s ns\n' "$text" "$(env "$@" "$python" "$here/bench_agent.py" "$fake" "$kind" "$depth")"
}
on="VRAMTRACE_SESSION=$work/session LD_PRELOAD=$agent"
row "report, no agent" report 1 A=
row "report, agent without a session" report 1 LD_PRELOAD="$agent"
row "report, no Python stack" report 1 $on VRAMTRACE_STACKS=none
for depth in 1 10 30 100; do
	row "report, Python stack of $depth and 3 more frames" report $depth $on
done
row "op begin and end, no agent" op 1 A=
row "op begin and end, no Python stack" op 1 $on VRAMTRACE_STACKS=none
for depth in 1 10 30; do
	row "op that autograd counts, Python stack of $depth and 3 more frames" op $depth $on
done
