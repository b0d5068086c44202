#!/bin/sh
# python_stacks.sh AGENT FAKE_DIR: the agent's Python stacks equal the interpreter's, in every Python that is here.
# VT_PYTHONS names others (paths, separated by blanks). Exit status 77: there is none.
set -eu
agent=$1 fake=$2 here=$(dirname "$0")
work=$(mktemp -d /tmp/vt-python.XXXXXX)
trap 'rm -rf "$work"' EXIT
run=0
for python in ${VT_PYTHONS:-python3 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 "$HOME"/.pyenv/versions/3.*/bin/python3}; do
	"$python" -c 'import sys, ctypes; sys.exit(not (3, 9) <= sys.version_info < (3, 15))' 2>/dev/null || continue
	rm -rf "$work/session" && mkdir "$work/session"
	VRAMTRACE_SESSION=$work/session LD_PRELOAD=$agent "$python" "$here/python_stacks.py" target "$fake/libc10.so" "$work/want"
	"$fake/dump_rings" "$work/session/"*.ring > "$work/dump"
	"$python" "$here/python_stacks.py" check "$work/want" "$work/dump" || { grep -E '"note"|"FILE"|"RING"' "$work/dump" | head; exit 1; }
	rm -rf "$work/session" && mkdir "$work/session"
	VRAMTRACE_SESSION=$work/session LD_PRELOAD=$agent "$python" "$here/python_modules.py" target "$fake/libc10.so" "$work/want"
	"$fake/dump_rings" "$work/session/"*.ring > "$work/dump"
	"$python" "$here/python_modules.py" check "$work/want" "$work/dump"
	# The interpreter ends under threads that still allocate: no crash, whatever they see of it.
	for i in 1 2 3 4 5; do
		rm -rf "$work/session" && mkdir "$work/session"
		VRAMTRACE_SESSION=$work/session LD_PRELOAD=$agent "$python" "$here/python_exit.py" "$fake/libc10.so" ||
			{ echo "$python: status $? at the end of the interpreter"; exit 1; }
	done
	rm -rf "$work/session" && mkdir "$work/session"
	VRAMTRACE_SESSION=$work/session LD_PRELOAD=$agent "$python" "$here/python_fork.py" "$fake/libc10.so"
	run=$((run + 1))
done
[ $run -gt 0 ] || exit 77
