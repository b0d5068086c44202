"""A running recording is paused, resumed, flushed, copied and asked, and recordings begin late and end early."""
import json
import os
import re
import subprocess
import time

from recording import BIN, FAKE_TORCH, counted, facts, path, record, run_tests, same, start, total, wait_until

VRAMTRACE = os.path.join(BIN, "vramtrace")
GAP_BEGIN, GAP_END = 9, 10


def ctl(*arguments):
    return subprocess.run([VRAMTRACE, "ctl", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=60)


def ok(*arguments):
    done = ctl(*arguments)
    same((done.returncode, done.stderr), (0, ""), "ctl " + " ".join(arguments))
    return done.stdout


def status(session):
    return json.loads(ok("--session", session, "--json", "status"))


def rows(trace, kind):
    done = subprocess.run([VRAMTRACE, "export", "--format=json", "--kind=" + kind, trace], stdout=subprocess.PIPE,
                          text=True, timeout=60)
    same(done.returncode, 0, "export")
    return [json.loads(line) for line in done.stdout.splitlines()]


def gaps(trace):
    return [(n["code"], n["time_ns"]) for n in rows(trace, "note") if n["code"] in (GAP_BEGIN, GAP_END)]


def report(trace, *options):
    done = subprocess.run([VRAMTRACE, "report", *options, trace], stdout=subprocess.PIPE, text=True, timeout=60)
    same(done.returncode, 0, "report")
    return done.stdout


class Recording:
    """fake_torch for ever, one step in a millisecond, until the end of the with."""

    def __init__(self, name, *options, mode="forever"):
        self.trace, self.counters = path(name + ".vramtrace"), path(name + ".counters")
        self.process = start(self.trace, FAKE_TORCH, "--counters", self.counters, "--threads", "1", "--pause-us", "1000",
                             mode, options=options, quiet=False)

    def __enter__(self):
        wait_until(lambda: os.path.exists(self.counters) and counted(self.counters)[0] > 0, "the first allocation")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.out, self.err = self.process.communicate(timeout=60)

    def ask(self, *arguments):
        return ok("--session", self.trace, *arguments)

    def events(self):
        return status(self.trace)["events"]


def test_pause_and_resume():
    with Recording("pause") as run:
        wait_until(lambda: run.events() > 50, "events")
        run.ask("pause")
        same(status(run.trace)["state"], "paused", "state")
        before, allocs = run.events(), counted(run.counters)[0]
        wait_until(lambda: counted(run.counters)[0] > allocs + 200, "the program to go on")
        same(run.events(), before, "events while paused")
        run.ask("pause")  # again: nothing happens
        run.ask("resume")
        same(status(run.trace)["state"], "recording", "state")
        wait_until(lambda: run.events() > before + 50, "events after the pause")
    have, want = facts(run.trace), counted(run.counters)[0]
    assert total(have, "allocs") <= want - 200, (have, want)
    codes = gaps(run.trace)
    same([c for c, _ in codes], [GAP_BEGIN, GAP_END], "notes")
    inside = [e for e in rows(run.trace, "tensor") if codes[0][1] + 10**6 < e["time_ns"] < codes[1][1]]
    same(inside, [], "events inside the gap")
    # What was live before is not taken for live afterwards, and the reports say where the hole is.
    text = report(run.trace)
    assert re.search(r"Nothing of process 1 was recorded from [0-9.]+ m?s to [0-9.]+ m?s", text), text
    found = json.loads(report(run.trace, "--json"))
    same([g["what"] for g in found["gaps"]], ["everything"], "gaps")
    live = [d for d in found["devices"] if d["device"] == 0][0]
    assert "mismatches" not in live or live["mismatches"] == 0, live


def test_status_and_the_ways_to_name_a_recording():
    with Recording("ways") as run:
        have = status(run.trace)
        same((have["state"], have["output"], have["recorder"], have["processes"]),
             ("recording", os.path.realpath(run.trace), run.process.pid, 1), "status")
        for name in (have["session"], str(run.process.pid)):
            same(status(name)["session"], have["session"], name)
        with open("/proc/%d/task/%d/children" % (run.process.pid, run.process.pid)) as f:
            child = f.read().split()[0]
        same(status(child)["session"], have["session"], "pid of the program")
        assert "state      recording" in ok("--session", run.trace, "status")
        same(ctl("--session", "/nonexistent", "status").returncode, 3, "no such session")
        same(ctl("--session", "4000000", "status").returncode, 3, "no such pid")
        same(ctl("--session", run.trace).returncode, 2, "no request")
        same(ctl("--session", run.trace, "explode").returncode, 2, "unknown request")
        with Recording("second") as second:
            done = ctl("status")
            if done.returncode == 0:
                raise AssertionError("two recordings, and one was chosen")
            assert run.trace in done.stderr and second.trace in done.stderr, done.stderr
    same(ctl("--session", run.trace, "status").returncode, 3, "after the end")
    same(os.path.exists(have["session"]), False, "session directory")


def test_flush_and_snapshot():
    copy = path("copy.vramtrace")
    with Recording("flush") as run:
        wait_until(lambda: counted(run.counters)[0] > 100, "allocations")
        allocs = counted(run.counters)[0]
        run.ask("flush")
        assert total(facts(run.trace), "allocs") >= allocs
        run.ask("snapshot", copy)
        assert total(facts(copy), "allocs") >= allocs
        same(subprocess.run([VRAMTRACE, "check", copy], stdout=subprocess.DEVNULL).returncode, 0, "check")
        report(copy)
        same(ctl("--session", run.trace, "snapshot", copy).returncode, 3, "the file is there")
        run.ask("snapshot", "--force", copy)
        same(ctl("--session", run.trace, "snapshot", "/nonexistent/x").returncode, 4, "no such place")
        same(ctl("--session", run.trace, "snapshot").returncode, 2, "no name")
    same([n for n in os.listdir(os.path.dirname(copy)) if ".part-" in n], [], "half copies")


def test_start_after():
    with Recording("late", "--start-after", "700ms") as run:
        time.sleep(0.3)
        run.ask("flush")
        same(total(facts(run.trace), "allocs"), 0, "allocations before the time")
        wait_until(lambda: run.events() > 100, "events after it")
    codes = gaps(run.trace)
    same([c for c, _ in codes], [GAP_BEGIN, GAP_END], "notes")
    tensors = rows(run.trace, "tensor")
    assert tensors[0]["time_ns"] > codes[1][1] - 10**6, (tensors[0], codes)
    assert 4e8 < codes[1][1] - codes[0][1] < 5e9, codes
    # Frees of blocks that were never seen are counted, and the totals are the allocator's own.
    device = json.loads(report(run.trace, "--json"))["devices"][0]
    assert device["allocated_bytes"] > 0, device


def test_duration():
    with Recording("short", "--duration", "0.5s") as run:
        wait_until(lambda: status(run.trace)["state"] == "paused", "the end of the time")
        events, allocs = run.events(), counted(run.counters)[0]
        assert events > 20, events
        wait_until(lambda: counted(run.counters)[0] > allocs + 100, "the program to go on")
        same(run.events(), events, "events after the end")
    assert "recording has ended as --duration asked" in run.err, run.err
    same([c for c, _ in gaps(run.trace)], [GAP_BEGIN], "notes")
    assert "to the end" in report(run.trace)


def test_children_begin_as_the_session_is():
    trace, counters = path("fork.vramtrace"), path("fork.counters")
    done = record(trace, FAKE_TORCH, "--counters", counters, "--steps", "50", "fork", options=("--start-after", "1h"))
    same(done.returncode, 0, done.stderr)
    found = facts(trace)
    same((len(found["processes"]), total(found, "allocs")), (2, 0), "recorded of two processes")
    same([c for c, _ in gaps(trace)], [GAP_BEGIN, GAP_BEGIN], "notes")


def test_wrong_times_are_refused():
    for option, value in (("--duration", "0"), ("--duration", "soon"), ("--start-after", "-1"), ("--start-after", "3x")):
        done = record(path("never"), "true", options=(option, value))
        same(done.returncode, 2, option + " " + value)
        assert option in done.stderr, done.stderr


run_tests(globals())
