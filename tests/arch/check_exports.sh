#!/bin/sh
# check_exports.sh LIBRARY MAP: the library's visible names are those of its version script, and it needs libc alone.
set -eu
export LC_ALL=C
have=$(nm -D --defined-only "$1" | awk '{ print $3 }' | sort)
want=$(sed -n '/global:/,/local:/p' "$2" | tr -d ' \t;' | grep -v -e : -e '^$' | sort)
[ "$have" = "$want" ] || { echo "visible names differ from $2:"; echo "$have" | diff - /dev/fd/3 3<<END || true
$want
END
exit 1; }
needed=$(readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
for library in $needed; do
	case $library in
	libc.so.6 | libdl.so.2 | libpthread.so.0 | ld-linux-*) ;;
	libasan.so.* | libubsan.so.* | libtsan.so.* | libm.so.6 | libgcc_s.so.1) [ "${3:-}" = sanitized ] || bad=$library ;;
	*) bad=$library ;;
	esac
done
[ -z "${bad:-}" ] || { echo "the agent needs $bad; it may need libc alone"; exit 1; }
