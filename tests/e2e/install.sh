#!/bin/sh
# install.sh BUILD_DIR CMAKE: the installed tree records by itself: the programs find each other and the agent.
set -eu
build=$1 cmake=$2
work=$(mktemp -d /tmp/vt-install-XXXXXX)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/usr" >/dev/null
unset VRAMTRACE_AGENT
cd "$work"
env PATH="$work/usr/bin:$PATH" vramtrace record -o run.vramtrace "$build/tests/fake/fake_torch" run 2>summary
grep -q "4,000 events of 1 process" summary || { cat summary; exit 1; }
# Without the agent nothing is run, and the message names what is missing.
find "$work/usr" -name libvramtrace-agent.so -delete
status=0
env PATH="$work/usr/bin:$PATH" vramtrace record -o none.vramtrace touch ran 2>message || status=$?
[ $status -eq 3 ] && [ ! -e ran ] && grep -q libvramtrace-agent.so message || { echo "status $status"; cat message; exit 1; }
