#!/bin/sh
# check_sizes.sh ROOT: no file of code above 600 lines, no C function above 80 (tests of data and tables included).
set -eu
cd "$1"
bad=$(find run .ci schema capture analyze kernels tests -type f \
	\( -name '*.[ch]' -o -name '*.cu' -o -name '*.def' -o -name '*.sh' -o -name '*.py' -o -name run \) -exec awk '
	FNR == 1 { if (file != "" && lines > 600) print file ": " lines " lines, 600 at most"; file = FILENAME; open = 0 }
	{ lines = FNR }
	FILENAME !~ /\.(c|cu)$/ { next }
	/^[A-Za-z_].*[({,]$/ || /^[A-Za-z_].*\)$/ { head = $0; begun = FNR }
	/^\{/ { open = FNR; name = head; start = begun }
	/^\}/ && open { if (FNR - start + 1 > 80) print FILENAME ":" start ": " FNR - start + 1 " lines, 80 at most: " name; open = 0 }
	END { if (lines > 600) print file ": " lines " lines, 600 at most" }' {} +)
[ -z "$bad" ] || { echo "$bad"; exit 1; }
