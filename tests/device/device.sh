#!/usr/bin/env bash
# device.sh - everything that needs an NVIDIA GPU, in one call: PyTorch's own numbers against vramtrace's under three
# allocator backends, and what capture costs. Takes build/device/bin if it is there (made elsewhere by
# `./run build device`), else builds. Results go to $OUT (tests/device/out); a table of PASS and FAIL comes last.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=$PWD/tests/device
out=${OUT:-$here/out}
python=${VT_TORCH_PYTHON:-python3}
limit_s=${VT_DEVICE_SECONDS:-470}
work=$(mktemp -d /tmp/vt-device.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/runs"
runs=$work/runs checks=$out/checks.txt
: > "$checks"

fail()
{
	printf 'FAIL  %-14s %s\n' "$1" "$2" | tee -a "$checks"
}

# The last line of a log that is the program's own, not the recorder's summary.
last_word()
{
	grep -vE '^(vramtrace:|  |$)' "$1" | tail -1
}

find_programs()
{
	bin=$PWD/build/device/bin
	[ -x "$bin/vramtrace" ] && return
	bin=$PWD/build/release/bin
	./run build >"$work/build.log" 2>&1 || { tail -20 "$work/build.log"; fail build "no build/device, and none can be made here"; return 1; }
}

# record_case NAME CONF SCRIPT...: one program under capture; what it printed is kept beside its trace.
record_case()
{
	local name=$1 conf=$2

	shift 2
	PYTORCH_CUDA_ALLOC_CONF=$conf PYTORCH_ALLOC_CONF=$conf timeout 150 \
		"$bin/vramtrace" record --force -o "$runs/$name.vramtrace" -- "$python" "$@" --truth "$runs/$name.json" >"$runs/$name.log" 2>&1
	echo $? >"$runs/$name.status"
}

check_case()
{
	local name=$1 status

	status=$(cat "$runs/$name.status" 2>/dev/null)
	if [ "$status" != 0 ] || [ ! -s "$runs/$name.json" ]; then
		fail "$name" "exit status ${status:-none}: $(last_word "$runs/$name.log")"
		return
	fi
	"$python" "$here/check_torch.py" "$bin/vramtrace" "$runs/$name.vramtrace" "$runs/$name.json" "$name" >"$work/check" 2>"$work/check.err"
	[ -s "$work/check.err" ] && fail "$name" "check_torch.py: $(tail -1 "$work/check.err")"
	cat "$work/check" >>"$checks"
	for view in report oom ops; do
		"$bin/vramtrace" $view "$runs/$name.vramtrace" >"$runs/$name.$view.txt" 2>&1 || fail "$name" "vramtrace $view: $(tail -1 "$runs/$name.$view.txt")"
	done
	"$bin/vramtrace" export --format perfetto -o "$runs/$name.pftrace" "$runs/$name.vramtrace" >>"$runs/$name.log" 2>&1 ||
		fail "$name" "vramtrace export: $(last_word "$runs/$name.log")"
}

declare -A conf=([native]=backend:native [expandable]=expandable_segments:True [async]=backend:cudaMallocAsync)

# The backends side by side where they do not get in each other's way; one at a time where the memory runs out.
run_cases()
{
	local backend name

	for backend in native expandable async; do
		record_case train_$backend "${conf[$backend]}" "$here/train.py" --steps 20 &
		record_case leak_$backend "${conf[$backend]}" "$here/train.py" --steps 20 --leak &
	done
	wait
	for backend in native expandable async; do
		record_case oom_$backend "${conf[$backend]}" "$here/oom.py"
	done
	for name in {train,leak,oom}_{native,expandable,async}; do
		check_case "$name"
	done
}

# Programs of kernels/ print the truth of their own calls.
run_kernels()
{
	local name program

	for name in truth_memory truth_oom; do
		program=$bin/../kernels/$name
		if [ ! -x "$program" ]; then
			program=$work/$name
			nvcc -O2 -arch=native -I. -o "$program" "kernels/$name.cu" >"$runs/$name.log" 2>&1 ||
				{ fail "$name" "nvcc: $(last_word "$runs/$name.log")"; continue; }
		fi
		timeout 60 "$bin/vramtrace" record --force -o "$runs/$name.vramtrace" -- "$program" >"$runs/$name.truth" 2>"$runs/$name.log" ||
			{ fail "$name" "exit status $?: $(last_word "$runs/$name.log")"; continue; }
		"$bin/vramtrace" export --format json "$runs/$name.vramtrace" >"$work/seen" 2>>"$runs/$name.log" ||
			{ fail "$name" "vramtrace export: $(last_word "$runs/$name.log")"; continue; }
		if "$python" "$here/check_truth.py" "$runs/$name.truth" "$work/seen" >"$runs/$name.check" 2>&1; then
			printf 'PASS  %-14s %s\n' "$name" "every call as the program made it" >>"$checks"
		else
			fail "$name" "$(head -3 "$runs/$name.check" | tr '\n' ' ')"
		fi
	done
}

run_overhead()
{
	local left=$((limit_s - SECONDS))

	"$python" "$here/overhead.py" "$bin/vramtrace" "$out/overhead.json" --rounds 5 --steps 40 --budget "$left" >"$out/overhead.txt" 2>&1 ||
		fail overhead "$(tail -1 "$out/overhead.txt")"
	cat "$out/overhead.txt"
}

keep_results()
{
	local name

	for name in train oom leak; do
		[ "$(stat -c %s "$runs/${name}_native.vramtrace" 2>/dev/null || echo 1048576)" -lt 1048576 ] ||
			fail "${name}_native" "its trace is not below 1 MiB"
		[ "$(cat "$runs/${name}_native.status")" = 0 ] && cp "$runs/${name}_native.vramtrace" "$out/h200_$name.vramtrace"
	done
	tar -C "$runs" -czf "$out/runs.tar.gz" .
}

# The table at the end: one line a case, then every number that is wrong.
print_verdict()
{
	echo
	awk '{ n[$2 " " $1]++; if (!($2 in seen)) { seen[$2]; order[++k] = $2 } }
		END { for (i = 1; i <= k; i++) printf "%-16s %3d PASS %3d FAIL\n", order[i], n[order[i] " PASS"], n[order[i] " FAIL"] }' "$checks"
	grep ^FAIL "$checks"
	echo "$(grep -c ^PASS "$checks") PASS, $(grep -c ^FAIL "$checks") FAIL in $SECONDS s; everything is in $out"
}

main()
{
	nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || fail machine "nvidia-smi does not answer"
	find_programs || return 1
	run_cases
	echo "cases: $SECONDS s"
	run_kernels
	keep_results
	run_overhead
	print_verdict
	! grep -q ^FAIL "$checks"
}

main
