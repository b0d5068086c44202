#!/bin/sh
# random.sh VRAMTRACE MAKE_SCHEMA_TRACE: every picture and export of traces full of random events, on many devices: none of
# them ends by a signal or finds the trace bad. Sanitizers make it worth the time.
set -eu
vramtrace=$1 make=$2 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for seed in 1 2 3; do
	"$make" "$work/trace" $seed small
	while read -r arguments; do
		# shellcheck disable=SC2086
		"$vramtrace" $arguments "$work/trace" >"$work/out" 2>"$work/errors" || {
			echo "FAIL: seed $seed: vramtrace $arguments: status $?"
			tail -5 "$work/errors"
			failed=1
		}
	done <<-'END'
		html -q -o /dev/null
		timeline --by op
		live --once
		live --once --json
		export -q --format perfetto -o /dev/null
		export -q --format perfetto --detail full -o /dev/null
		export -q --format perfetto --max-size 2M -o /dev/null
		export -q --format folded --what total
		export -q --format pprof -o /dev/null
		export -q --format speedscope
	END
done
exit $failed
