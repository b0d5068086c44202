#!/bin/sh
# check_docs.sh PROGRAM ROOT: the commands that `vramtrace help` lists are in README.md and in the man page, each option
# that a command's --help shows is in the man page, and the man page invents none.
set -eu
program=$1 man=$2/docs/man
work=$(mktemp -d /tmp/vt-docs.XXXXXX)
trap 'rm -rf "$work"' EXIT
fail=0
commands=$("$program" help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' | grep -vx help)
[ -n "$commands" ] || { echo "$program help lists no command"; exit 1; }
for command in $commands; do
	page=$man/vramtrace.1
	case $command in record | collect | ctl | doctor) page=$man/vramtrace-record.1 ;; esac
	grep -qE "^\| \`$command\`" "$2/README.md" || { echo "README.md: no row for $command"; fail=1; }
	grep -qE "^\.(It|Ss) .*\b$command\b" "$page" || { echo "$page: no section on $command"; fail=1; }
	"$program" "$command" --help > "$work/help" 2>&1 || { echo "$command --help: exit status $?"; fail=1; }
	sed -nE 's/^ +(-[a-zA-Z], )? *--([a-z][a-z-]*).*/\2/p' "$work/help" | sort -u > "$work/options"
	[ -s "$work/options" ] || { echo "$command --help shows no option"; fail=1; }
	while read -r option; do
		echo "$page $option" >> "$work/seen"
		grep -qE "Fl -$option( |$)" "$page" || { echo "$page: no --$option, which $command has"; fail=1; }
	done < "$work/options"
done
for page in "$man"/*.1; do
	for option in $(grep -oE '^\.It.*Fl -[a-z-]+' "$page" | sed 's/.*Fl -//'); do
		[ "$option" = version ] || grep -qx "$page $option" "$work/seen" || { echo "$page: --$option is no option of any command"; fail=1; }
	done
done
exit $fail
