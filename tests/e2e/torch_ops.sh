#!/bin/sh
# torch_ops.sh AGENT FAKE_DIR: ops, allocations and lines of a real PyTorch run on the CPU equal torch.profiler's.
# VT_TORCH_PYTHON names the Python that has PyTorch. Exit status 77: there is none.
set -eu
agent=$1 fake=$2 here=$(dirname "$0") python=${VT_TORCH_PYTHON:-python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch in $python; set VT_TORCH_PYTHON"; exit 77; }
work=$(mktemp -d /tmp/vt-torch.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir "$work/session"
VRAMTRACE_HOST=1 VRAMTRACE_SESSION=$work/session LD_PRELOAD=$agent "$python" "$here/torch_ops.py" target "$work/want"
"$fake/dump_rings" "$work/session/"*.ring > "$work/dump"
"$python" "$here/torch_ops.py" check "$work/want" "$work/dump"
