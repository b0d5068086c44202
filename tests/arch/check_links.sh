#!/bin/sh
# check_links.sh ROOT: what the documents link to is there.
set -eu
cd "$1"
bad=$(for page in *.md docs/*.md schema/*.md kernels/*.md; do
	[ -e "$page" ] || continue
	grep -oE '\]\([^)#: ]+' "$page" | sed 's/^](//' | while read -r link; do
		[ -e "$(dirname "$page")/$link" ] || echo "$page: no $link"
	done
done)
[ -z "$bad" ] || { echo "$bad"; exit 1; }
