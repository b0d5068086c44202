"""What the agent leaves in its rings, for each way a program can live and die.

  agent_rings.py PRELOAD FAKE_DIR

Runs tests/fake/fake_torch and compares the rings with the counters that the fake allocator keeps in shared memory.
"""
import collections
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

PRELOAD, FAKE = sys.argv[1], sys.argv[2]
RING_FULL, NO_RING, REENTRANT = 0, 1, 5
NOTE_STARTED, NOTE_FORKED = 0, 18
LIVE, EXITED = 1, 2
Counts = collections.namedtuple("Counts", "allocs frees ooms")


class Run:
    """One program under the agent, and what the rings hold afterwards."""

    def __init__(self, *arguments, session=True, drain=False, kill_after=None):
        self.directory = tempfile.TemporaryDirectory(prefix="vt-rings.", dir="/dev/shm")
        self.session = os.path.join(self.directory.name, "session")
        self.counters = os.path.join(self.directory.name, "counters")
        os.mkdir(self.session)
        env = dict(os.environ, LD_PRELOAD=PRELOAD)
        env.pop("VRAMTRACE_SESSION", None)
        if session:
            env["VRAMTRACE_SESSION"] = self.session if session is True else session
        self.rows = []
        process = subprocess.Popen([FAKE + "/fake_torch", "--counters", self.counters, *arguments], env=env,
                                   stdout=subprocess.PIPE, cwd=self.directory.name)
        if kill_after is not None:
            self.await_first_event()
            time.sleep(kill_after)
            process.send_signal(signal.SIGKILL)
        while drain and process.poll() is None:
            self.dump("--drain")
            time.sleep(0.001)
        self.output = process.communicate()[0].split()
        self.status = process.returncode
        self.dump()
        self.files = [r for r in self.rows if r["kind"] == "FILE"]
        self.rings = [r for r in self.rows if r["kind"] == "RING"]
        self.tensors = [r for r in self.rows if r["kind"] == "tensor"]
        self.notes = [r for r in self.rows if r["kind"] == "note"]

    def dump(self, *options):
        names = sorted(os.listdir(self.session))
        if not names:
            return
        paths = [os.path.join(self.session, n) for n in names]
        out = subprocess.run([FAKE + "/dump_rings", *options, *paths], env=dict(os.environ, LD_PRELOAD=""),
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert out.returncode == 0 or options, out.stderr
        self.rows += [json.loads(line) for line in out.stdout.splitlines()]

    def await_first_event(self):
        """A loaded machine may take its time to start a program; a kill before it began would test nothing."""
        deadline = time.monotonic() + 20
        while not (os.path.exists(self.counters) and os.path.getsize(self.counters) >= 24 and self.counted().allocs):
            assert time.monotonic() < deadline, "the program has not begun after 20 s"
            time.sleep(0.001)

    def counted(self):
        with open(self.counters, "rb") as f:
            return Counts(*struct.unpack("3Q", f.read(24)))

    def lost(self, why):
        return sum(r["lost"][why] for r in self.files + self.rings)

    def names(self):
        return sorted(os.listdir(self.session))


def same(have, want, what):
    assert have == want, "%s: have %s, want %s" % (what, have, want)


def check_order(run):
    """Per thread, time rises strictly; per device, the totals are the sums, in time order."""
    last, total = {}, collections.Counter()
    for row in sorted(run.tensors, key=lambda r: r["time_ns"]):
        total[row["device"]] += row["size_bytes"]
        same(row["allocated_bytes"], total[row["device"]], "running total of device %d" % row["device"])
        assert row["reserved_bytes"] >= row["allocated_bytes"]
    for row in run.tensors:
        key = row["ring"], row["thread"]
        assert row["time_ns"] > last.get(key, 0), "time does not rise in thread %d" % row["thread"]
        last[key] = row["time_ns"]


def check_all_recorded(run):
    counts = run.counted()
    same(len([r for r in run.tensors if r["size_bytes"] > 0]), counts.allocs, "allocations recorded")
    same(len([r for r in run.tensors if r["size_bytes"] < 0]), counts.frees, "frees recorded")
    for ring in run.rings:
        same(sum(ring["lost"]), 0, "losses of ring %d" % ring["ring"])
    check_order(run)


def test_run():
    run = Run("--threads", "3", "--steps", "3000", "run")
    check_all_recorded(run)
    same(run.status, 0, "status")
    same(run.files[0]["state"], EXITED, "state after exit()")
    same(int(run.output[3]), len(run.tensors), "calls that reached the real function")
    same([n["code"] for n in run.notes].count(NOTE_STARTED), 1, "start notes")
    for ring in run.rings:
        rows = [r["seq"] for r in run.rows if r.get("ring") == ring["ring"] and "seq" in r]
        same(rows, list(range(len(rows))), "sequence numbers of ring %d" % ring["ring"])
        same(ring["events"], len(rows), "event count of ring %d" % ring["ring"])


def test_inert():
    for session in (False, "relative/path", ""):
        run = Run("run", session=session)
        same((run.status, run.rows), (0, []), "a run without a session")
        same(int(run.output[3]), sum(run.counted()), "calls that reached the real function")
    run = Run("idle")
    same((run.status, run.names()), (0, []), "a program that never allocates")
    run = Run("run", session="/nonexistent/directory")
    same((run.status, int(run.output[3])), (0, sum(run.counted())), "a session that is not there")


def test_oom():
    run = Run("oom")
    check_all_recorded(run)
    oom = [r for r in run.rows if r["kind"] == "oom"]
    same([(r["requested_bytes"], r["allocated_bytes"], r["device"]) for r in oom], [(1 << 30, 0, 0)], "OOM records")
    same(run.output[4], b"1", "OOM calls that reached the real function")


def test_full():
    run = Run("--threads", "2", "--steps", "100000", "run")
    counts = run.counted()
    assert run.lost(RING_FULL) > 0
    same(len(run.tensors) + run.lost(RING_FULL), counts.allocs + counts.frees, "recorded and lost")
    same(int(run.output[3]), counts.allocs + counts.frees, "calls that reached the real function")


def test_more_threads_than_rings():
    run = Run("--threads", "20", "--steps", "10", "waves")
    counts = run.counted()
    same(len(run.rings), 148, "rings")
    assert run.lost(NO_RING) > 0
    same(len(run.tensors) + run.lost(NO_RING), counts.allocs + counts.frees, "recorded and lost")


def test_rings_taken_over():
    run = Run("--threads", "8", "--steps", "20", "--pause-us", "500", "waves", drain=True)
    counts = run.counted()
    unique = {(r["ring"], r["thread"], r["seq"]): r for r in run.tensors}
    same(len(unique), counts.allocs + counts.frees, "allocations recorded over all generations")
    assert max(r["generation"] for r in run.rings) > 1, "no ring was used twice"
    assert len({r["ring"] for r in run.rings}) < 128
    for row in run.files[-1]["lost"]:
        same(row, 0, "losses")


def test_fork():
    run = Run("fork")
    check_all_recorded(run)
    same(len(run.files), 2, "files")
    same(run.status, 0, "status")
    parent = next(f for f in run.files if f["parent_pid"] not in [g["pid"] for g in run.files])
    same([n["value"] for n in run.notes if n["code"] == NOTE_FORKED], [parent["pid"]], "fork notes")
    same(sorted({r["device"] for r in run.tensors}), [0, 1], "devices")


def test_exec():
    run = Run("exec")
    check_all_recorded(run)
    same(len(run.names()), 2, "files")
    assert run.names()[0].endswith(".1.ring"), run.names()


def test_crash():
    run = Run("crash")
    check_all_recorded(run)
    same((run.status, run.files[0]["state"]), (-signal.SIGABRT, LIVE), "status and state after abort()")


def test_exit_while_allocating():
    run = Run("--pause-us", "10", "exit")
    counts = run.counted()
    same(run.status, 7, "status")
    assert 0 <= len(run.tensors) - counts.allocs - counts.frees <= 1, (len(run.tensors), counts)


def test_kill():
    for _ in range(10):
        run = Run("--threads", "3", "--pause-us", "20", "forever", kill_after=random.random() * 0.1)
        counts = run.counted()
        same(run.status, -signal.SIGKILL, "status")
        # The counter follows the report, under the allocator's mutex: one event may be ahead of it.
        assert counts.allocs > 0
        assert 0 <= len(run.tensors) - counts.allocs - counts.frees <= 1, (len(run.tensors), counts)
        check_order(run)


def test_signals():
    run = Run("--threads", "2", "--steps", "20000", "signals")
    same(len(run.tensors) + run.lost(REENTRANT), int(run.output[3]), "recorded, and raised inside the agent")
    assert [r for r in run.tensors if r["device"] == 2], "no signal came"


def test_full_file_system():
    """No memory for a ring, or not even for the header: events are lost and counted, and nothing is killed."""
    shell = ("mount -t tmpfs -o size=%s none $0 2>/dev/null || exit 77; cd $0; "
             "VRAMTRACE_SESSION=$0 LD_PRELOAD='" + PRELOAD + "' " + FAKE + "/fake_torch --steps 3000 run || exit 1; "
             "for f in *.ring; do [ -e $f ] && " + FAKE + "/dump_rings $f; done; exit 0")
    for size, lines in ("1m", 2), ("5m", 3), ("16k", 1):
        with tempfile.TemporaryDirectory(prefix="vt-full.") as directory:
            out = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", shell % size, directory],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(os.environ, LD_PRELOAD=""))
        if out.returncode in (77, 127) or (out.returncode == 1 and not out.stdout):
            print("test_full_file_system: skipped, no user namespaces here")
            return
        output = out.stdout.splitlines()
        counts = [int(n) for n in output[0].split()]
        same(out.returncode, 0, "status with %s" % size)
        same(counts[3], counts[0] + counts[1], "calls that reached the real function")
        rows = [json.loads(line) for line in output[1:]]
        if size == "16k":
            same(rows, [], "files")
            continue
        recorded = len([r for r in rows if r["kind"] == "tensor"])
        same(recorded + rows[0]["lost"][NO_RING], counts[3], "recorded and lost with %s" % size)
        same(len([r for r in rows if r["kind"] == "RING"]), lines - 2, "rings with %s" % size)


for name, test in sorted(globals().items()):
    if name.startswith("test_"):
        try:
            test()
        except AssertionError as error:
            print("%s: %s" % (name, error))
            sys.exit(1)
        print("%s: ok" % name)
