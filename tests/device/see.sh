#!/usr/bin/env bash
# see.sh [BIN_DIR]: on a machine with a GPU and PyTorch: what people look at, of a training with kernels. Below $OUT: the trace
# and its page. Each line says PASS or FAIL; the exit status is 1 where anything failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=${1:-$here/../../build/device/bin} out=${OUT:-$(mktemp -d)} python=${VT_TORCH_PYTHON:-python3} failed=0
trace=$out/see.vramtrace

check() # NAME, then a command that must succeed
{
	local name=$1
	shift
	if "$@" >"$out/log" 2>&1; then echo "PASS  $name"; else echo "FAIL  $name: $(tail -3 "$out/log")"; failed=1; fi
}

"$bin/vramtrace" record -q --kernels on -o "$trace" -- "$python" "$here/train.py" --steps 10 >"$out/train.log" 2>&1 &
recorder=$!
for _ in $(seq 300); do [ -e "$trace" ] && break; sleep 0.1; done
"$bin/vramtrace" live --json --interval 500ms "$trace" >"$out/live.jsonl" 2>"$out/live.log"
wait $recorder
check "the training ended" test $? -eq 0
"$bin/vramtrace" report --json --at end "$trace" >"$out/report.json"
check "live's last look is the report's" python3 - "$out/live.jsonl" "$out/report.json" <<'END'
import json, sys
look = json.loads(open(sys.argv[1]).read().splitlines()[-1])
assert look["ended"], look
for a, b in zip(look["devices"], json.load(open(sys.argv[2]))["devices"]):
    for name in ("allocated_bytes", "reserved_bytes", "driver_bytes", "peak_allocated_bytes", "live_blocks"):
        assert a[name] == b[name], (name, a[name], b[name])
END
check "the page" "$bin/vramtrace" html -q -o "$out/see.html" "$trace"
check "kernels in the stories of blocks" python3 - "$out/see.html" <<'END'
import base64, gzip, json, sys
text = open(sys.argv[1], encoding="utf-8").read()
data = text.split('<script id="data" type="text/plain">')[1].split("</script>")[0]
page = json.loads(gzip.decompress(base64.b64decode(data)).decode().split("\x1e")[0])
assert page["touches_captured"], "no launch says what it touches"
blocks = [b for d in page["devices"] for b in d["blocks"]]
touched = [b for b in blocks if b[13]]
print(len(touched), "of", len(blocks), "blocks are named by launches;", len(page["kernels"]), "kernels")
assert len(touched) > len(blocks) / 2 and page["kernels"], (len(touched), len(blocks))
for b in touched:
    assert b[2] <= b[14] <= b[15] and (b[3] < 0 or b[15] <= b[3]), b[:4] + b[13:16]
END
cat "$out/log"
for detail in low normal full; do
	check "Perfetto, $detail" "$bin/vramtrace" export -q --format perfetto --detail $detail -o "$out/see.pftrace" "$trace"
done
for format in folded pprof speedscope; do
	check "$format" "$bin/vramtrace" export -q --format $format --what total -o "$out/see.$format" "$trace"
done
check "folded stacks add up" python3 - "$out/see.folded" "$out/report.json" <<'END'
import json, sys
found = sum(int(line.rsplit(" ", 1)[1]) for line in open(sys.argv[1]))
wanted = sum(d["allocations_bytes"] for d in json.load(open(sys.argv[2]))["devices"])
assert found == wanted, (found, wanted)
END
check "timeline" "$bin/vramtrace" timeline "$trace"
"$bin/vramtrace" timeline "$trace"
exit $failed
