#!/usr/bin/env bash
# bench.sh BUILD: every benchmark that needs no GPU. What the figures mean: docs/benchmarks.md.
set -euo pipefail
build=$1 here=$(dirname "$0")

head_line()
{
	printf '\n%s\n' "$*"
}

echo "$(uname -m), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)"
head_line "The agent, in the recorded program (tests/bench/bench_agent.sh)"
"$here/bench_agent.sh" "$build/lib/libvramtrace-agent.so" "$build/tests/fake"
head_line "The collector (tests/bench/bench_collector.c)"
"$build/bin/bench_collector"
head_line "What an event costs in a chunk (tests/bench/bench_codec.c)"
"$build/bin/bench_codec"
head_line "The model of PyTorch's allocator (tests/bench/bench_simulate.c)"
"$build/bin/bench_simulate"
head_line "SQL over a trace (tests/bench/bench_sql.c)"
"$build/bin/bench_sql"
head_line "Perfetto timelines (tests/bench/bench_perfetto.c)"
"$build/bin/bench_perfetto"
head_line "A page of ten million events (tests/bench/bench_page.c), in Chromium where it is there"
"$build/bin/bench_page" 10000000 "$build/bench_page.html"
python3 "$here/../e2e/page_speed.py" "$build/bench_page.html" || echo "not measured in a browser: see the line above"
if [ -n "${VT_TORCH_PYTHON:-}" ]; then
	head_line "A PyTorch training on the CPU, host tensors recorded (tests/device/overhead.py)"
	"$VT_TORCH_PYTHON" "$here/../device/overhead.py" "$build/bin/vramtrace" "$build/overhead.json" --device cpu \
		--rounds 5 --steps 10 --layers 4 --width 128
else
	echo "no PyTorch: the training is left out"
fi
