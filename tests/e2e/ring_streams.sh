#!/usr/bin/env bash
# What the agent wrote to its rings on a real H200, before any collector saw it (tests/device/ring_streams.sh), goes
# through the collector here: every call of the program must come out, column by column, nothing lost and nothing more.
# ring_streams.sh BIN_DIR SOURCE_DIR PLAY_RINGS
set -u
bin=$1 source=$2 play=$3
work=$(mktemp -d) failed=0
trap 'rm -rf "$work"' EXIT

for packed in "$source"/tests/data/rings/*.jsonl.gz; do
	name=$(basename "$packed" .jsonl.gz)
	session=$work/$name trace=$work/$name.vramtrace
	mkdir -m 700 "$session"
	gzip -dc "$packed" | "$play" "$session" || { echo "FAIL  $name: cannot be played"; failed=1; continue; }
	"$bin/vramtrace" collect --quiet --session "$session" -o "$trace" 2>"$work/errors" || { echo "FAIL  $name: collect: $(cat "$work/errors")"; failed=1; continue; }
	[ ! -e "$session" ] || { echo "FAIL  $name: the session is left behind"; failed=1; }
	"$bin/vramtrace" check --quiet "$trace" >"$work/text" || { echo "FAIL  $name: check: $(cat "$work/text")"; failed=1; }
	"$bin/vramtrace" export --format json "$trace" >"$work/seen"
	python3 "$source/tests/device/check_truth.py" "${packed%.jsonl.gz}.truth" "$work/seen" || failed=1
	"$bin/vramtrace" info --json "$trace" | python3 -c '
import json, sys
lost = [loss for loss in json.load(sys.stdin)["losses"] if loss["count"]]
sys.exit("lost: %s" % lost if lost else 0)' || failed=1
done
[ -n "${name:-}" ] || { echo "FAIL  no recorded rings"; failed=1; }
exit $failed
