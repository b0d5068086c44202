#!/bin/sh
# matrix.sh BIN_DIR AGENT FAKE_DIR [others]: what depends on the versions of Python and PyTorch, with every Python that is here.
#
# Pythons: VT_MATRIX_PYTHONS (commands, separated by blanks) if given, else VT_TORCH_PYTHON, python3, those of pyenv and uv,
# and Debian's (debian_python.sh makes others). Each runs the tests of stacks and modules on the fake allocator; one that has
# PyTorch also those on the real one. A table comes last: what ran, and which of the versions that the agent knows were not
# to be had. Exit status 77: no Python has PyTorch. With `others` all that the tests themselves do is left out: the
# Python of VT_TORCH_PYTHON, and the fake allocator.
set -u
bin=$1 agent=$2 fake=$3 here=$(dirname "$0")
done_with=
[ "${4:-}" = others ] && done_with=${VT_TORCH_PYTHON:-python3}
work=$(mktemp -d /tmp/vt-matrix.XXXXXX)
trap 'rm -rf "$work"' EXIT
known="3.9 3.10 3.11 3.12 3.13 3.14"
describe='import sys, platform
if not (3, 9) <= sys.version_info < (3, 15): sys.exit(1)
try:
    import torch; version = torch.__version__
except Exception:
    version = "none"
print(platform.python_version(), version)'

# run NAME COMMAND...: PASS, FAIL or skipped into the row; what a failing one printed.
run()
{
	name=$1
	shift
	timeout 600 "$@" >"$work/out" 2>&1
	case $? in
	0) row="$row $name:PASS" ;;
	77) row="$row $name:skipped" ;;
	*)
		row="$row $name:FAIL" failed=1
		echo "--- $name with $python:" && tail -15 "$work/out"
		;;
	esac
}

with_torch()
{
	export VT_TORCH_PYTHON="$python"
	run torch_ops "$here/torch_ops.sh" "$agent" "$fake"
	run stack_truth python3 "$here/stack_truth.py" "$bin" gpt2 checkpoint
	run op_truth python3 "$here/../device/attrib.py" "$bin" --device cpu --only ops --out "$work"
	run links python3 "$here/links.py" "$bin/vramtrace"
	run modules python3 "$here/modules.py" "$bin/vramtrace"
	run categories python3 "$here/categories.py" "$bin/vramtrace" --model mlp --model gpt2 --model checkpoint
}

failed=0 torches=0 seen=" " rows=""
for python in ${VT_MATRIX_PYTHONS:-${VT_TORCH_PYTHON:-} python3 "$HOME"/.pyenv/versions/3.*/bin/python3 \
	"${XDG_DATA_HOME:-$HOME/.local/share}"/uv/python/*/bin/python3 /usr/bin/python3}; do
	versions=$("$python" -c "$describe" 2>/dev/null) || continue
	case $seen in *" $versions "*) continue ;; esac
	seen="$seen$versions " row=""
	# e2e.python_stacks itself goes through the Pythons that are here.
	[ -n "$done_with" ] || VT_PYTHONS=$python run python_stacks "$here/python_stacks.sh" "$agent" "$fake"
	case $versions in
	*" none") row="$row (no PyTorch: the rest is SKIPPED)" ;;
	*)
		torches=$((torches + 1))
		if [ "$python" = "$done_with" ]; then
			row="$row (the rest: tests of their own)"
		else
			with_torch
		fi
		;;
	esac
	rows="$rows
Python ${versions% *}, PyTorch ${versions#* }:$row"
done
echo "$rows"
for version in $known; do
	case $seen in *" $version."*) ;; *) echo "SKIPPED: no Python $version here" ;; esac
done
[ $failed = 0 ] || exit 1
if [ $torches = 0 ]; then
	echo "SKIPPED: none of these has PyTorch; VT_TORCH_PYTHON or VT_MATRIX_PYTHONS names one that has"
	exit 77
fi
