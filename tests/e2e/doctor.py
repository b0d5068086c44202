#!/usr/bin/env python3
"""doctor.py VRAMTRACE FAKES - `vramtrace doctor` on machines that are made up: below a root of their own, with fakes of
NVIDIA's libraries in the directory FAKES, or without."""
import json
import os
import resource
import subprocess
import sys
import tempfile

vramtrace, fakes = sys.argv[1:3]
failed = 0
VERSION = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Release Build\n"


def make_root(top, name, version=VERSION, admin_only=0, instances=0):
    root = os.path.join(top, name)
    driver = os.path.join(root, "proc/driver/nvidia")
    os.makedirs(driver)
    os.makedirs(os.path.join(root, "dev/shm"))
    if version:
        with open(driver + "/version", "w") as file:
            file.write(version)
        with open(driver + "/params", "w") as file:
            file.write("EnableMSI: 1\nRmProfilingAdminOnly: %d\n" % admin_only)
    for instance in range(instances):
        os.makedirs("%s/capabilities/gpu0/mig/gi%d" % (driver, instance))
    return root


def doctor(root, *arguments, fake=True, limits=None, **variables):
    """Exit status, and the checks by name."""
    names = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "LD_PRELOAD", "LD_LIBRARY_PATH")
    environment = {k: v for k, v in os.environ.items() if k not in names}
    environment.update(variables, VRAMTRACE_DOCTOR_ROOT=root)
    if fake:
        environment["LD_LIBRARY_PATH"] = fakes
    command = [vramtrace, "doctor", "--json", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, preexec_fn=limits, timeout=200)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return done.returncode, {"stderr": {"found": done.stderr, "status": ""}}
    checks = {check["name"]: check for check in report["checks"]}
    ranks = ["ok", "limited", "no"]
    expect("status is the worst", report["status"] == max((c["status"] for c in checks.values()), key=ranks.index), report)
    for check in checks.values():
        expect("what is not ok says what to do", check["status"] == "ok" or check["next"], check)
    return done.returncode, checks


def expect(what, true, shown):
    global failed
    if not true:
        print("FAIL: %s: %s" % (what, shown))
        failed = 1


def expect_check(checks, name, status, words):
    check = checks.get(name, {"status": "absent", "found": ""})
    expect("%s is %s with '%s'" % (name, status, words), check["status"] == status and words in check["found"], check)


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


with tempfile.TemporaryDirectory() as top:
    whole = make_root(top, "whole")
    status, checks = doctor(whole, "--", sys.executable)
    expect("capture works with fakes", status == 0, (status, checks))
    expect_check(checks, "NVIDIA driver", "ok", "580.95.05")
    expect_check(checks, "counters", "ok", "every user")
    expect_check(checks, "MIG", "ok", "no GPU instances")
    expect_check(checks, "other tools", "ok", "none")
    expect_check(checks, "agent", "ok", "works")
    expect_check(checks, "Python", "ok", "CPython %d.%d." % sys.version_info[:2])
    expect_check(checks, "CUPTI", "ok", "version 130001: %s/libcupti.so.13" % fakes)
    status, _ = doctor(whole, "--strict", "--", sys.executable)
    expect("--strict: no kernels in the fake", status == 1, status)

    bare = make_root(top, "bare", version=None)
    status, checks = doctor(bare, fake=False)
    if not os.path.exists("/dev/nvidiactl"):
        expect("no driver", status == 4, status)
        expect_check(checks, "NVIDIA driver", "no", "no kernel module")
        expect_check(checks, "CUPTI", "limited", "not tried")
        status, checks = doctor(whole, fake=False)
        expect("a container without libraries", status == 4, status)
        expect_check(checks, "NVIDIA driver", "no", "no libcuda.so.1")

    _, checks = doctor(make_root(top, "mig", instances=3, admin_only=1))
    expect_check(checks, "MIG", "limited", "3 GPU instances")
    expect_check(checks, "counters", "ok" if os.geteuid() == 0 else "limited", "administrators only")

    _, checks = doctor(whole, CUDA_INJECTION64_PATH="/opt/other.so")
    expect_check(checks, "other tools", "limited", "/opt/other.so")
    _, checks = doctor(whole, NSYS_PROFILING_SESSION_ID="7")
    expect_check(checks, "other tools", "limited", "NSYS_PROFILING_SESSION_ID")
    _, checks = doctor(whole, VRAMTRACE_CUPTI="0")
    expect_check(checks, "CUPTI", "limited", "VRAMTRACE_CUPTI=0")

    status, checks = doctor(whole, limits=small_files)
    expect("a ring file does not fit", status == 4, status)
    expect_check(checks, "limits", "no", "64.05 MiB")
    _, checks = doctor(whole, limits=few_files)
    expect_check(checks, "limits", "limited", "64 open files")

    os.rmdir(make_root(top, "noshm") + "/dev/shm")
    _, checks = doctor(os.path.join(top, "noshm"))
    expect_check(checks, "shared memory", "limited", "No such file")

    status, checks = doctor(whole, "--", "/nonexistent/python")
    expect("no interpreter", status == 4, status)
    expect_check(checks, "agent", "no", "/nonexistent/python")
    status, checks = doctor(whole, "--", "/bin/false")
    expect("an interpreter that fails", status == 4, status)
    expect_check(checks, "agent", "no", "exit status 1")
    expect_check(checks, "Python", "limited", "no interpreter answered")

    torch_python = os.environ.get("VT_TORCH_PYTHON")
    if torch_python:
        status, checks = doctor(bare, "--", torch_python, fake=False)
        expect_check(checks, "PyTorch", "ok", "tensors and ops are recorded")

    for wrong in (["--frob"], ["--", "python3", "-c"]):
        done = subprocess.run([vramtrace, "doctor", *wrong], capture_output=True)
        expect("usage", done.returncode == 2, (wrong, done.returncode))
    place = os.path.join(top, "tmp")
    os.mkdir(place)
    status, checks = doctor(whole, TMPDIR=place)
    expect("with a TMPDIR", status == 0, checks)
    expect("nothing is left behind", not os.listdir(place), os.listdir(place))
    _, checks = doctor(whole, TMPDIR=place + "/none")
    expect_check(checks, "agent", "no", place + "/none")
print("FAIL" if failed else "PASS")
sys.exit(failed)
