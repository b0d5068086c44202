"""vramtrace record: the program runs as without it, and all it did is in the trace.

  record.py BIN_DIR FAKE_DIR
"""
import contextlib
import os
import re
import sqlite3
import subprocess
import time

from recording import (BIN, EXITED, FAKE_TORCH, KILLED, RECORDER, counted, facts, lost, path, record, run_tests, same, start,
                       total, wait_until, work)


def check_whole(trace, counters):
    """Every event that was counted is in the trace, and nothing was lost."""
    found = facts(trace)
    allocs, frees, ooms = counted(counters)
    same((total(found, "allocs"), total(found, "frees"), total(found, "ooms")), (allocs, frees, ooms), "events")
    same(total(found, "thread_records"), total(found, "events") + total(found, "definitions"), "records committed")
    same(lost(found), {}, "losses")
    return found


def recorded(name, *arguments, **more):
    trace, counters = path(name + ".vramtrace"), path(name + ".counters")
    done = record(trace, FAKE_TORCH, "--counters", counters, *arguments, **more)
    return done, check_whole(trace, counters)


# ---------------------------------------------------------------- the program is as without us

def test_exit_status():
    for script, want in (("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -11 $$", 139), ("kill -6 $$", 134),
                         ("kill -15 $$", 143)):
        done = record(path("status.vramtrace"), "sh", "-c", script, options=["--force"])
        same((done.returncode, done.stdout, done.stderr), (want, "", ""), script)


def test_not_a_program():
    trace = path("none.vramtrace")
    plain = path("plain.txt")
    open(plain, "w").close()
    for program, want in (("no-such-program-anywhere", 127), ("/no/such/file", 127), (plain, 126), ("/", 126), ("", 127)):
        done = record(trace, program)
        same(done.returncode, want, program)
        assert "cannot run it" in done.stderr, done.stderr
        assert not os.path.exists(trace)


def test_pipes_and_arguments():
    text = "line one\n\nlast line without end"
    same(record(path("cat.vramtrace"), "cat", input=text).stdout, text, "stdin to stdout")
    arguments = ["a b", "", "--force", "-o", "x'y\"z", "*"]
    done = record(path("args.vramtrace"), "printf", r"<%s>\n", *arguments)
    same(done.stdout, "".join("<%s>\n" % a for a in arguments), "arguments")
    script = path("script with no first line")
    with open(script, "w") as f:
        f.write("echo ran as a shell would\n")
    os.chmod(script, 0o755)
    same(record(path("script.vramtrace"), script).stdout, "ran as a shell would\n", "a script without #!")


def test_signal_state():
    """Mask and dispositions of the program are those that the recorder was given."""
    show = "import signal; print([signal.getsignal(s) for s in (13, 17, 25, 2)], signal.pthread_sigmask(0, []))"
    want = subprocess.run(["/usr/bin/env", "python3", "-c", show], stdout=subprocess.PIPE, text=True).stdout
    same(record(path("sigs.vramtrace"), "python3", "-c", show).stdout, want, "signals of the program")


def test_environment():
    show = "echo $LD_PRELOAD; echo $CUDA_INJECTION64_PATH; echo $VRAMTRACE_HOST $VRAMTRACE_STACKS $VRAMTRACE_OPS $VRAMTRACE_KERNELS"
    agent = os.path.realpath(os.path.join(BIN, "../lib/libvramtrace-agent.so"))
    done = record(path("env.vramtrace"), "sh", "-c", show)
    same(done.stdout.split("\n")[:3], [agent, agent, "0 python 1 0"], "environment")
    own = dict(os.environ, LD_PRELOAD="libm.so.6", CUDA_INJECTION64_PATH="/their/own.so")
    done = record(path("env2.vramtrace"), "sh", "-c", show, env=own, options=["--host", "--stacks=none", "--ops", "off", "--kernels", "on"])
    same(done.stdout.split("\n")[:3], [agent + ":libm.so.6", "/their/own.so", "1 none 0 1"], "environment kept")
    assert "CUDA_INJECTION64_PATH is set already" in done.stderr, done.stderr
    done = record(path("env3.vramtrace"), "sh", "-c", show, options=["--no-cupti"])
    same(done.stdout.split("\n")[1], "", "CUDA_INJECTION64_PATH with --no-cupti")


# ---------------------------------------------------------------- the command line

def test_usage():
    for arguments in ([], ["--no-such"], ["-o"], ["--stacks", "java", "true"], ["--ops=maybe", "true"],
                      ["--kernels=all", "true"],
                      ["--grace", "soon", "true"], ["-o", "", "true"]):
        done = subprocess.run([RECORDER, "record", *arguments], stderr=subprocess.PIPE, text=True)
        same(done.returncode, 2, "status of %s" % arguments)
        assert "vramtrace record --help" in done.stderr, done.stderr
    same(subprocess.run([RECORDER, "collect", "-o", "x"], stderr=subprocess.DEVNULL).returncode, 2, "collect")
    same(subprocess.run([RECORDER], stderr=subprocess.DEVNULL).returncode, 2, "no command")
    for command in ("record", "collect"):
        done = subprocess.run([RECORDER, command, "--help"], stdout=subprocess.PIPE, text=True)
        same(done.returncode, 0, "help")
        assert re.search(r"^Examples?\n  vramtrace %s" % command, done.stdout, re.M), done.stdout


def test_output_file():
    trace, other = path("twice.vramtrace"), path("thesis.txt")
    with open(other, "w") as f:
        f.write("ten years of work")
    same(record(trace, "true").returncode, 0, "first")
    ran = path("ran")
    for output, options in ((trace, []), (other, []), (other, ["--force"]), ("/no/such/place/x.vramtrace", [])):
        done = record(output, "touch", ran, options=options)
        assert done.returncode in (2, 3, 4) and output in done.stderr, (output, done)
        assert not os.path.exists(ran), "the program ran although its trace could not be written"
    same(open(other).read(), "ten years of work", "a file that is no trace")
    same(record(trace, "true", options=["--force"]).returncode, 0, "--force on a trace")


def test_default_name():
    done = subprocess.run([RECORDER, "record", "/bin/sh", "-c", "echo $$"], cwd=work, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    name = "vramtrace-sh-%s.vramtrace" % done.stdout.strip()
    assert os.path.exists(path(name)), (name, os.listdir(work))
    assert name in done.stderr and "nothing was captured" in done.stderr, done.stderr


def test_session_directory():
    show = ["sh", "-c", "echo $VRAMTRACE_SESSION; stat -c %a $VRAMTRACE_SESSION"]
    session, mode = record(path("s1.vramtrace"), *show).stdout.split()
    same(mode, "700", "mode of the session directory")
    assert not os.path.exists(session)
    done = record(path("s2.vramtrace"), *show, options=["--keep-session"])
    session = done.stdout.split()[0]
    assert session in done.stderr and os.path.isdir(session)
    os.rmdir(session)


# ---------------------------------------------------------------- what is in the trace

def test_run():
    done, found = recorded("run", "--threads", "3", "--steps", "3000", "run", quiet=False)
    same(done.returncode, 0, "status")
    process, = found["processes"]
    same((process["end_state"], process["threads"] >= 3), (EXITED, True), "process")
    assert "18,0" in done.stderr and "nothing lost" in done.stderr and "vramtrace report" in done.stderr, done.stderr
    assert "out-of-memory" not in done.stderr


def test_oom():
    done, _ = recorded("oom", "oom", quiet=False)
    lines = [line for line in done.stderr.splitlines() if line.startswith("vramtrace: ")]
    assert lines[0].startswith("vramtrace: 1 out-of-memory error: run `vramtrace oom "), done.stderr


def test_fork_and_exec():
    done, found = recorded("fork", "fork")
    same((done.returncode, len(found["processes"])), (0, 2), "fork")
    done, found = recorded("exec", "exec")
    same((done.returncode, len(found["processes"])), (0, 2), "exec")


def test_threads_come_and_go():
    # No more at a time than there are rings, and pauses in which ended threads' rings are drained.
    _, found = recorded("waves", "--threads", "8", "--steps", "40", "--pause-us", "1000", "waves")
    same(found["processes"][0]["threads"] >= 16 * 8, True, "threads")


def test_bad_ends():
    done, found = recorded("crash", "crash")
    same((done.returncode, found["processes"][0]["end_state"]), (134, KILLED), "abort")
    trace, counters = path("exit.vramtrace"), path("exit.counters")
    done = record(trace, FAKE_TORCH, "--counters", counters, "--pause-us", "10", "exit")
    found = facts(trace)
    same((done.returncode, found["processes"][0]["end_state"]), (7, KILLED), "_exit")
    ahead = total(found, "allocs") + total(found, "frees") - sum(counted(counters)[:2])
    assert 0 <= ahead <= 1, ahead


def test_many_processes():
    trace = path("many.vramtrace")
    script = " ".join("%s --counters %s --steps 300 run >/dev/null &" % (FAKE_TORCH, path("many.%d" % i)) for i in range(12))
    same(record(trace, "sh", "-c", script + " wait").returncode, 0, "status")
    found = facts(trace)
    same(len(found["processes"]), 12, "processes")
    same(total(found, "allocs"), sum(counted(path("many.%d" % i))[0] for i in range(12)), "allocations")


def test_orphans():
    """A launcher that ends before its work: the work is in the trace all the same."""
    trace, counters = path("orphan.vramtrace"), path("orphan.counters")
    script = "(sleep 0.5; exec %s --counters %s run >/dev/null) & exit 3" % (FAKE_TORCH, counters)
    same(record(trace, "sh", "-c", script).returncode, 3, "status")
    check_whole(trace, counters)


def test_survivors():
    """A process that goes on for ever is followed for the grace period, and the trace says that it ran on."""
    trace, counters = path("survivor.vramtrace"), path("survivor.counters")
    script = "%s --counters %s --pause-us 100 forever >/dev/null 2>&1 & echo $!; sleep 0.3; exit 3" % (FAKE_TORCH, counters)
    begin = time.monotonic()
    process = start(trace, "sh", "-c", script, options=["--grace", "0.5"], quiet=False, stderr=subprocess.PIPE)
    pid = int(process.stdout.readline())
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - begin < 10
    same(process.returncode, 3, "status")
    assert "1 process ran on" in err, err
    found, = facts(trace)["processes"]
    same((found["pid"], found["end_ns"]), (pid, 0), "the survivor")
    assert found["allocs"] > 0
    # It does not notice that nobody reads its rings any more.
    before = counted(counters)[0]
    wait_until(lambda: counted(counters)[0] > before + 100, "the survivor goes on")
    os.kill(pid, 9)


def chunks_of(trace):
    """0 where the file is not there, or not yet a trace."""
    if not os.path.exists(trace):
        return 0
    with contextlib.closing(sqlite3.connect(trace)) as reader:
        try:
            return reader.execute("select count(*) from chunk").fetchone()[0]
        except sqlite3.OperationalError:
            return 0


def test_read_while_recorded():
    """A reader sees what was committed, and one that stays until the end costs nothing but a -wal file."""
    trace, counters = path("read.vramtrace"), path("read.counters")
    process = start(trace, FAKE_TORCH, "--counters", counters, "--steps", "3000", "--pause-us", "100", "run")
    wait_until(lambda: chunks_of(trace) > 0, "events in the file of a running program")
    reader = sqlite3.connect(trace)
    reader.execute("begin")
    reader.execute("select count(*) from chunk").fetchone()
    _, err = process.communicate(timeout=60)
    same(process.returncode, 0, "status")
    assert "the trace is whole" in err, err
    check_whole(trace, counters)
    reader.close()


def test_limited_file_size():
    """The trace cannot grow: told once, the program's status is its own."""
    trace, counters = path("limited.vramtrace"), path("limited.counters")
    limited = "ulimit -S -f 1000; exec \"$@\""
    # The program itself is not limited: that would stop its agent, too.
    unlimited = "ulimit -S -f $(ulimit -H -f); exec \"$@\""
    done = subprocess.run(["sh", "-c", limited, "sh", RECORDER, "record", "-o", trace, "sh", "-c", unlimited, "sh", FAKE_TORCH,
                           "--counters", counters, "--steps", "60000", "--pause-us", "10", "crash"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    same(done.returncode, 134, "status: " + done.stderr)
    same(counted(counters)[0], 120000, "the program ran to its end")
    same(done.stderr.count("the program runs on"), 1, "said once: " + done.stderr)
    session = re.search(r"can be saved:\n.*--session (\S+) -o", done.stderr).group(1)
    found = facts(trace)
    assert 0 < total(found, "allocs") < 120000, found
    # With room again, what the rings kept is saved and what they dropped is counted.
    done = subprocess.run([RECORDER, "collect", "--session", session, "-o", trace], stderr=subprocess.PIPE, text=True, timeout=60)
    same(done.returncode, 0, done.stderr)
    found = facts(trace)
    same(total(found, "allocs") + total(found, "frees") + lost(found).get("ring full", 0), sum(counted(counters)[:2]), "sum")
    assert not os.path.exists(session)


run_tests(globals())
