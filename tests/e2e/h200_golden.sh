#!/usr/bin/env bash
# The recorded H200 traces against what PyTorch itself said in those processes; and every command on each of them.
# h200_golden.sh BIN_DIR SOURCE_DIR
set -u
bin=$1 source=$2
work=$(mktemp -d) failed=0
trap 'rm -rf "$work"' EXIT

for trace in "$source"/tests/data/h200_*.vramtrace; do
	name=$(basename "$trace" .vramtrace)
	python3 "$source/tests/device/check_torch.py" "$bin/vramtrace" "$trace" "${trace%.vramtrace}.truth.json" "$name" || failed=1
	for command in report timeline oom ops fragmentation simulate info check; do
		"$bin/vramtrace" $command "$trace" >"$work/text" 2>"$work/errors" || { echo "FAIL  $name: vramtrace $command: $(cat "$work/errors")"; failed=1; }
		[ -s "$work/text" ] || { echo "FAIL  $name: vramtrace $command prints nothing"; failed=1; }
		"$bin/vramtrace" $command --json "$trace" | python3 -m json.tool >/dev/null || { echo "FAIL  $name: vramtrace $command --json is no JSON"; failed=1; }
	done
	for detail in low normal full; do
		"$bin/vramtrace" export --quiet --format perfetto --detail $detail -o "$work/out" "$trace" || { echo "FAIL  $name: Perfetto, $detail"; failed=1; }
	done
	[ "$("$bin/vramtrace" export --format json "$trace" | wc -l)" -gt 10000 ] || { echo "FAIL  $name: JSON lines are missing"; failed=1; }
done

# The model of PyTorch's allocator against what PyTorch's did: every block's address, the reserved bytes after every request.
for name in train leak oom kernels; do
	"$bin/vramtrace" simulate --fail-on differs --sweep "$source/tests/data/h200_$name.vramtrace" >"$work/text" ||
		{ echo "FAIL  h200_$name: simulate: $(sed -n 2,6p "$work/text")"; failed=1; }
done
# Of the run that failed, the same error. No policy goes below what is live.
"$bin/vramtrace" simulate --json "$source/tests/data/h200_oom.vramtrace" | python3 -c '
import json, sys
(device,) = json.load(sys.stdin)["devices"]
agreement = device["agreement"]
ok = (agreement["exact"], agreement["errors_matched"]) == (True, 1)
recorded = [p for p in device["policies"] if p["name"] == "recorded settings"][0]
ok &= recorded["peak_reserved_bytes"] == device["recorded_peak_reserved_bytes"]
ok &= all(p["peak_reserved_bytes"] >= device["peak_live_bytes"] for p in device["policies"])
ok &= device["offline_best_fit_bytes"] >= device["peak_live_bytes"]
sys.exit(not ok)' || { echo "FAIL  h200_oom: the model of its settings"; failed=1; }

# Growth is told of the leak alone, and the exit status agrees.
for name in train leak; do
	"$bin/vramtrace" oom --fail-on growth "$source/tests/data/h200_$name.vramtrace" >"$work/text"
	status=$?
	tr '\n' ' ' <"$work/text" | grep -q 'the last 19 optimizer steps, by 1.70 GiB in all' && told=1 || told=0
	[ "$name $status $told" = "train 0 0" ] || [ "$name $status $told" = "leak 1 1" ] ||
		{ echo "FAIL  h200_$name: --fail-on growth: status $status, told $told"; failed=1; }
done
exit $failed
