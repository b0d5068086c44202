#!/bin/sh
# shared_cupti.sh AGENT DIRECTORY: a program that profiles itself through CUPTI does so with the agent as without it, and
# the agent sees its memory calls before and after. AGENT: what to preload; DIRECTORY: of fake_profiler and dump_rings.
set -eu
session=$(mktemp -d)
trap 'rm -rf "$session"' EXIT
fail() { echo "$1"; exit 1; }

alone=$("$2/fake_profiler") || fail "without the agent: status $?"
[ "$alone" = "1 context(s), 1 subscription(s)" ] || fail "without the agent: $alone"
inert=$(LD_PRELOAD=$1 "$2/fake_profiler") || fail "agent without a session: status $?"
[ "$inert" = "$alone" ] || fail "agent without a session: $inert"
seen=$(LD_PRELOAD=$1 VRAMTRACE_SESSION=$session "$2/fake_profiler") || fail "with the agent: status $?"
[ "$seen" = "$alone" ] || fail "with the agent: $seen"

records=$("$2/dump_rings" "$session"/*.ring)
calls=$(echo "$records" | grep -c '"kind": "driver_memory"' || true)
[ "$calls" = 2 ] || fail "$calls of 2 memory calls recorded: $records"
