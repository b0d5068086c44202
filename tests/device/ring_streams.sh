#!/usr/bin/env bash
# ring_streams.sh - keeps what the agent writes to its rings on a real GPU, before any collector has seen it: the
# session directory as it lies in memory when the program ends, packed, with the program's own truth beside it.
# tests/e2e/ring_streams.sh gives it to the collector on any machine. Results: $OUT/rings_<name>.tar.gz, .truth.
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
		timeout 60 "$@" >"$out/rings_$name.truth" 2>"$out/rings_$name.log"; then
		printf 'FAIL  %-14s %s\n' "rings_$name" "$(tail -1 "$out/rings_$name.log")"
		return
	fi
	tar -C "$session" --sparse -cf - . | gzip -9 >"$out/rings_$name.tar.gz"
	printf 'PASS  %-14s %s files, %s bytes packed\n' "rings_$name" "$(ls "$session" | wc -l)" "$(stat -c %s "$out/rings_$name.tar.gz")"
}

for program in "$bin"/../kernels/truth_*; do
	[ -x "$program" ] && keep "$(basename "$program")" "$program"
done
