"""SIGKILL of the recorder: the program does not notice, the trace opens, `collect` goes on where it ended.

  resume.py BIN_DIR FAKE_DIR
"""
import os
import random
import signal
import subprocess
import time

from recording import FAKE_TORCH, RECORDER, counted, facts, lost, path, record, run_tests, same, start, total, wait_until

ROUNDS = 4
# How many times longer than promised a recorder may take: a sanitizer slows it down.
PATIENCE = float(os.environ.get("VT_PATIENCE", "1"))


def session_of(pid):
    with open("/proc/%d/environ" % pid, "rb") as f:
        entries = dict(e.split(b"=", 1) for e in f.read().split(b"\0") if b"=" in e)
    return entries[b"VRAMTRACE_SESSION"].decode()


def kill_recorder(process):
    """Its output pipes are the program's as well, and stay open."""
    process.kill()
    process.wait(timeout=30)


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return int(f.read())


def collect(session, trace, *options, **popen):
    return subprocess.Popen([RECORDER, "collect", "--session", session, "-o", trace, *options], stderr=subprocess.PIPE,
                            text=True, **popen)


def test_recorder_killed():
    dice = random.Random(5)
    for number in range(ROUNDS):
        trace, counters = path("r%d.vramtrace" % number), path("r%d.counters" % number)
        # Rings must not fill while nobody collects: a collector under a sanitizer is slower to come, and so is the program.
        pace = str(round(50 * PATIENCE))
        process = start(trace, FAKE_TORCH, "--counters", counters, "--threads", "3", "--pause-us", pace, "forever",
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: os.path.exists(counters) and counted(counters)[0] > 0, "the program allocates")
        time.sleep(0.3)
        program = child_of(process.pid)
        session = session_of(program)
        time.sleep(dice.random() * 0.3)
        # All that was counted 100 ms (and a slow machine's share) before the end of the recorder is in the file.
        before = sum(counted(counters)[:2])
        time.sleep(0.25 * PATIENCE)
        kill_recorder(process)
        found = facts(trace)
        assert total(found, "allocs") + total(found, "frees") >= before, (found, before)
        here = sum(counted(counters)[:2])
        wait_until(lambda: sum(counted(counters)[:2]) > here + 100, "the program goes on")
        # The next collector is killed too, the one after it ends the work.
        second = collect(session, trace)
        time.sleep(0.1 + dice.random() * 0.3)
        second.kill()
        second.communicate(timeout=30)
        third = collect(session, trace)
        time.sleep(dice.random() * 0.2)
        os.kill(program, signal.SIGKILL)
        _, err = third.communicate(timeout=30)
        same(third.returncode, 0, err)
        found = facts(trace)
        same((len(found["processes"]), lost(found)), (1, {}), "processes and losses")
        ahead = total(found, "allocs") + total(found, "frees") - sum(counted(counters)[:2])
        assert 0 <= ahead <= 1, ahead
        assert not os.path.exists(session), "the session directory is left over"


def test_recorder_killed_program_done():
    """The program ended before anybody came to collect: its rings are still there."""
    trace, counters = path("done.vramtrace"), path("done.counters")
    process = start(trace, FAKE_TORCH, "--counters", counters, "--steps", "2000", "--pause-us", "200", "run",
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: os.path.exists(counters) and counted(counters)[0] > 0, "the program allocates")
    program = child_of(process.pid)
    session = session_of(program)
    kill_recorder(process)
    # The next recording says that there is something to save.
    done = record(path("next.vramtrace"), "true", quiet=False)
    assert "collect --session %s" % session in done.stderr or "an earlier recording was cut off" in done.stderr, done.stderr
    wait_until(lambda: not os.path.exists("/proc/%d" % program) or
               open("/proc/%d/stat" % program).read().rsplit(")", 1)[1].split()[0] == "Z", "the program ends")
    done = collect(session, trace)
    _, err = done.communicate(timeout=30)
    same(done.returncode, 0, err)
    assert "nothing lost" in err, err
    found = facts(trace)
    same((total(found, "allocs"), total(found, "frees")), counted(counters)[:2], "events")


def test_into_a_new_file():
    """The trace was thrown away: what still lies in the rings makes a new one."""
    trace, counters = path("lostfile.vramtrace"), path("lostfile.counters")
    process = start(trace, FAKE_TORCH, "--counters", counters, "--pause-us", "100", "forever", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: os.path.exists(counters) and counted(counters)[0] > 0, "the program allocates")
    program = child_of(process.pid)
    session = session_of(program)
    second = collect(session, path("second.vramtrace"))
    _, err = second.communicate(timeout=30)
    same(second.returncode, 3, "a second collector at the same time: " + err)
    assert "another collector" in err, err
    kill_recorder(process)
    os.kill(program, signal.SIGKILL)
    done = collect(session, path("second.vramtrace"), "-q")
    done.communicate(timeout=30)
    same(done.returncode, 0, "status")
    same(len(facts(path("second.vramtrace"))["processes"]), 1, "processes")


run_tests(globals())
