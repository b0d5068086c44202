#!/bin/sh
# command_line.sh VRAMTRACE - what the program does with its own command line: help, versions, mistakes, a full disk.
set -u
vramtrace=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# expect STATUS TEXT ARGS...: the exit status, and words in what is printed, to either stream.
expect() {
	wanted=$1 words=$2
	shift 2
	output=$("$vramtrace" "$@" 2>&1)
	status=$?
	if [ $status -ne "$wanted" ] || ! printf '%s' "$output" | grep -qF -e "$words"; then
		echo "FAIL: vramtrace $*: exit $status, wanted $wanted with '$words': $output"
		failed=1
	fi
}

expect 2 "Usage: vramtrace COMMAND"
expect 0 "Usage: vramtrace COMMAND" help
expect 0 "Usage: vramtrace COMMAND" --help
expect 0 "vramtrace 0." --version
expect 0 "Usage: vramtrace check" help check
expect 0 "Usage: vramtrace check" check --help
expect 2 "did you mean 'report'?" reprot
expect 2 "unknown command 'frobnicate'" frobnicate
expect 2 "unknown command 'frobnicate'" help frobnicate
touch run.vramtrace
expect 2 "is a file, not a command; try 'vramtrace info run.vramtrace'" run.vramtrace
expect 2 "no FILE given" info
expect 2 "did you mean '--json'?" info --jsno run.vramtrace
expect 3 "run.vramtrace" info run.vramtrace
expect 3 "nowhere.vramtrace" info nowhere.vramtrace

# Away from its recorder it says what is missing; beside one, or with one in libexec, it hands everything on.
mkdir -p alone/bin alone/libexec/vramtrace
cp "$vramtrace" alone/bin/vramtrace
vramtrace=$work/alone/bin/vramtrace
expect 4 "install both programs" record -- true
printf '#!/bin/sh\nprintf "<%%s>" "$@"\nexit 7\n' >alone/libexec/vramtrace/vramtrace-record
chmod +x alone/libexec/vramtrace/vramtrace-record
expect 7 "<record><-o><a b><--><true>" record -o "a b" -- true
expect 7 "<collect>" collect

if [ -e /dev/full ]; then
	"$vramtrace" help >/dev/full 2>err
	if [ $? -ne 4 ] || ! grep -q "No space left" err; then
		echo "FAIL: a full disk is not told: $(cat err)"
		failed=1
	fi
fi
exit $failed
