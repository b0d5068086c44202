#!/bin/sh
# check_man.sh ROOT: the man pages are free of mdoc errors. Exit status 77: there is no mandoc.
set -eu
command -v mandoc >/dev/null || { echo "mandoc is not installed"; exit 77; }
mandoc -Tlint -Wwarning "$1"/docs/man/*.1
