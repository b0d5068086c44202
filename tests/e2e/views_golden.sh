#!/bin/sh
# views_golden.sh VRAMTRACE MAKE_TRACE - report, oom and ops over a trace made by hand (tests/unit/views_scenario.h): the
# text against tests/golden/report, the JSON by views_json.py, exit statuses. To renew the texts after reading the
# difference: UPDATE=1 tests/e2e/views_golden.sh ...
set -eu
vramtrace=$1
make_trace=$2
here=$(cd "$(dirname "$0")" && pwd)
golden=$here/../golden/report
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export LC_ALL=C.UTF-8
failed=0

check() { # NAME COLUMNS ARGS...
	name=$1 columns=$2
	shift 2
	COLUMNS=$columns "$vramtrace" "$@" run.vramtrace >"$name.txt" || { echo "FAIL: $* exits with $?"; failed=1; }
	if [ -n "${UPDATE:-}" ]; then
		cp "$name.txt" "$golden/$name.txt"
	elif ! diff -u "$golden/$name.txt" "$name.txt"; then
		echo "FAIL: $* differs from tests/golden/report/$name.txt"
		failed=1
	fi
	if grep -q "$(printf '\033')" "$name.txt"; then
		echo "FAIL: $* writes colour into a file"
		failed=1
	fi
	# Characters, not bytes.
	if ! python3 -c 'import sys; sys.exit(any(len(l.rstrip("\n")) > int(sys.argv[2]) for l in open(sys.argv[1], encoding="utf-8")))' "$name.txt" "$columns"; then
		echo "FAIL: $* writes lines longer than $columns columns"
		failed=1
	fi
}

status() { # WANTED ARGS...
	wanted=$1
	shift
	got=0
	"$vramtrace" "$@" >out.txt 2>err.txt || got=$?
	if [ "$got" != "$wanted" ]; then
		echo "FAIL: vramtrace $* exits with $got, not $wanted: $(cat err.txt)"
		failed=1
	fi
}

"$make_trace" run.vramtrace
check report 80 report
check report_wide 160 report
check report_end 80 report --at end --top 2
check oom 80 oom
check ops 80 ops
check fragmentation 80 fragmentation
check fragmentation_end 80 fragmentation --at end --top 1
check tree 80 tree
check tree_lines 80 tree --by category,line --min-share 0
check timeline 80 timeline --rows 5
check timeline_part 80 timeline --from 20ms --to 40ms --rows 5
check timeline_by 80 timeline --by category --rows 3
check tree_flat 80 tree --by op --flat --run --top 4
check ops_stack_wide 160 ops --by stack --sort allocated

"$vramtrace" report --json run.vramtrace >report.json
"$vramtrace" oom --json run.vramtrace >oom.json
"$vramtrace" ops --json --top 100 run.vramtrace >ops.json
"$vramtrace" ops --json --by stack run.vramtrace >stacks.json
"$vramtrace" tree --json --by category,line run.vramtrace >tree.json
"$vramtrace" fragmentation --json run.vramtrace >fragmentation.json
python3 "$here/views_json.py" report.json oom.json ops.json stacks.json tree.json fragmentation.json || failed=1

status 1 oom --fail-on oom run.vramtrace
status 0 oom --fail-on growth run.vramtrace
status 0 oom --device 5 run.vramtrace
grep -q 'No out-of-memory error' out.txt || { echo "FAIL: no word that there was none"; failed=1; }
status 2 oom --fail-on weather run.vramtrace
status 2 report --at noon run.vramtrace
status 2 report --process 99 run.vramtrace
status 2 report
status 2 ops --sort sideways run.vramtrace
status 2 timeline --by weather run.vramtrace
status 2 timeline --by op --json run.vramtrace
status 2 timeline --from 2s --to 1s run.vramtrace
status 2 tree --by weather run.vramtrace
status 2 tree --by line,categry run.vramtrace
grep -q 'did you mean category' err.txt || { echo "FAIL: no suggestion for --by"; failed=1; }
status 2 tree --run --at end run.vramtrace
status 2 tree --min-share 101 run.vramtrace
status 0 simulate --sweep --capacity 40GiB run.vramtrace
status 1 simulate --fail-on oom --capacity 100MiB run.vramtrace
status 2 simulate --conf weather:fine run.vramtrace
status 2 simulate --recorded max_split_size_mb:1 run.vramtrace
status 2 simulate --fail-on weather run.vramtrace
status 2 fragmentation --at noon run.vramtrace
echo 'not a trace' >other.txt
status 3 report other.txt
# A full disk shows in the exit status.
if [ -w /dev/full ]; then
	got=0
	"$vramtrace" report --json run.vramtrace >/dev/full 2>err.txt || got=$?
	[ "$got" = 4 ] || { echo "FAIL: a full disk gives status $got"; failed=1; }
fi
exit $failed
