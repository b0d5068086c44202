#!/bin/sh
# Runs test_python_lines on what every CPython found here says of its own library. $1: the test program.
set -eu
program=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seen=
for python in python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 python3.15 python3 \
	"${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3; do
	version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
	case " $seen " in *" $version "*) continue ;; esac
	seen="$seen $version"
	"$python" -W ignore "$here/python_line_cases.py" > "$work/$version"
done
[ -n "$seen" ] || { echo "no python3 found"; exit 77; }
echo "Pythons:$seen"
"$program" "$work"/*
