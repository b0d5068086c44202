#!/bin/sh
# debian_python.sh SUITE DIR: a Python with the PyTorch of a Debian release, for matrix.sh, beside this machine's own.
# SUITE: bookworm (Python 3.11, PyTorch 1.13), trixie (3.13, 2.6) or sid. Makes the release in DIR (some 2 GB, as root, with
# debootstrap) and prints the command that starts its Python: a script that runs it with its own C library. For example
#   VT_MATRIX_PYTHONS="$(tests/e2e/debian_python.sh trixie /var/tmp/trixie)" ctest -L matrix
set -eu
suite=$1 root=$(readlink -m "$2")
if [ ! -x "$root/python" ]; then
	{
		mirror=$(apt-get indextargets --format '$(SITE)' | head -1)
		debootstrap --variant=minbase --include=ca-certificates,python3 "$suite" "$root" "$mirror"
		chroot "$root" apt-get install -y --no-install-recommends python3-torch python3-numpy
	} >&2
	libraries=$root/usr/lib/x86_64-linux-gnu
	cat >"$root/python" <<END
#!/bin/sh
PYTHONHOME=$root/usr exec $root/lib64/ld-linux-x86-64.so.2 --library-path $libraries:$libraries/blas:$libraries/lapack:$root/usr/lib \\
	$root/usr/bin/$(readlink "$root/usr/bin/python3") "\$@"
END
	chmod +x "$root/python"
fi
"$root/python" -c 'import torch'
echo "$root/python"
