#!/bin/sh
# check_words.sh ROOT: no word of one person's machine, no promise instead of work, and each source says what it is.
set -eu
cd "$1"
# The brackets keep this file from finding itself. The homes of `me` and `someone` are nobody's: examples.
paths='/wor[k]/|/hom[e]/[a-z]+/|/roo[t]/'
promises='TOD[O]|FIXM[E]|XX[X]:|not implemente[d] yet'
files() { find . -path ./build -prune -o -path ./.git -prune -o -path ./demo -prune -o -name __pycache__ -prune -o -type f "$@" -print; }
bad=$(files ! -name '*.vramtrace' | tr '\n' '\0' | xargs -0 grep -nIE "$paths|$promises" | grep -vE '/hom[e]/(me|someone)/' || true)
heads=$(files \( -name '*.c' -o -name '*.h' -o -name '*.def' -o -name '*.cu' \) | while read -r file; do
	name=${file##*/}
	head -2 "$file" | tr -d '\n' | grep -qF "$name - " || echo "$file:1: begins with '/* $name - what it is. */'"
done)
[ -z "$bad$heads" ] || { printf '%s\n%s\n' "$bad" "$heads"; exit 1; }
