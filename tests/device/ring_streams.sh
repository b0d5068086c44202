#!/usr/bin/env bash
# ring_streams.sh - keeps what the agent writes to its rings on a real GPU, before any collector has seen it, as
# dump_rings prints it when the program has ended, with the program's own truth beside it. They are kept in
# tests/data/rings, and tests/e2e/ring_streams.sh gives them to the collector on any machine.
# Results: $OUT/<name>.jsonl.gz, $OUT/<name>.truth. Wants build/device/bin, lib, kernels and tests/fake/dump_rings.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=${OUT:-$PWD/tests/device/out}
bin=$PWD/build/device/bin
agent=$PWD/build/device/lib/libvramtrace-agent.so
session=$(mktemp -d /dev/shm/vt-streams.XXXXXX)
trap 'rm -rf "$session"' EXIT
mkdir -p "$out"

# keep NAME PROGRAM...: no recorder; the agent is told of the session by the environment alone.
keep()
{
	local name=$1

	shift
	rm -rf "$session"/*
	if ! VRAMTRACE_SESSION=$session VRAMTRACE_KERNELS=1 LD_PRELOAD=$agent CUDA_INJECTION64_PATH=$agent \
		timeout 60 "$@" >"$out/$name.truth" 2>"$out/$name.log" ||
		! "$bin/../tests/fake/dump_rings" "$session"/*.ring >"$out/$name.jsonl" 2>"$out/$name.log"; then
		printf 'FAIL  %-14s %s\n' "rings" "$name: $(tail -1 "$out/$name.log")"
		return
	fi
	printf 'PASS  %-14s %s\n' "rings" "$name: $(ls "$session" | wc -l) files, $(wc -l <"$out/$name.jsonl") lines"
	gzip -9nf "$out/$name.jsonl"
}

for program in "$bin"/../kernels/truth_*; do
	[ -x "$program" ] && keep "$(basename "$program")" "$program"
done
