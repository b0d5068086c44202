"""`vramtrace live` in a real pseudo-terminal and beside one, on recordings that are under way; its last look against `report`."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from recording import BIN, FAKE_TORCH, path, run_tests, same, start, wait_until

VRAMTRACE = os.path.join(BIN, "vramtrace")
TAKE, GIVE = b"\x1b[?1049h", b"\x1b[?1049l"


class Terminal:
    """A program in a terminal of its own."""

    def __init__(self, *command, lines=30, columns=100):
        self.master, slave = pty.openpty()
        self.resize(lines, columns)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                        env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"})
        self.slave, self.data = slave, b""

    def resize(self, lines, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))

    def read(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.master], [], [], left)[0]:
                self.data += os.read(self.master, 1 << 16)

    def wait_for(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.data):
            assert time.monotonic() < end, f"never {pattern}: {self.data[-2000:]!r}"
            self.read(0.1)

    def send(self, data):
        os.write(self.master, data)

    def ended(self, seconds=60):
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it does not end: {self.data[-500:]!r}"
            self.read(0.05)
        self.read(0.2)
        settings = termios.tcgetattr(self.slave)
        same(settings[:6], self.before[:6], "the terminal's settings afterwards")
        assert self.data.count(TAKE) == self.data.count(GIVE) > 0, "the screen is not given back"
        os.close(self.master)
        os.close(self.slave)
        return self.process.returncode

    def after(self):
        """What stands on the user's own screen at the end."""
        return self.data.rsplit(GIVE, 1)[1].decode()


class Recording:
    def __init__(self, name, *options):
        self.trace = path(name + ".vramtrace")
        self.process = start(self.trace, FAKE_TORCH, "--threads", "2", "--live", "50", "--pause-us", "500", "forever", options=options)
        wait_until(lambda: os.path.exists(self.trace) and self.look()["events"] > 0, "events in the trace")

    def look(self):
        done = subprocess.run([VRAMTRACE, "live", "--once", "--json", self.trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout else {"events": 0}

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()


def report(trace):
    done = subprocess.run([VRAMTRACE, "report", "--json", "--at", "end", trace], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def same_as_report(look, trace, what):
    devices = {(d["process"], d["device_type"], d["device"]): d for d in report(trace)["devices"]}
    same(len(look["devices"]), len(devices), what + ": devices")
    for device in look["devices"]:
        other = devices[device["process"], device["device_type"], device["device"]]
        for name in ("allocated_bytes", "reserved_bytes", "peak_allocated_bytes", "live_blocks"):
            same(device[name], other[name], what + ": " + name)
        same(sum(h["live_bytes"] for h in device["holders"]),
             sum(h["live_bytes"] for h in other["holders"]), what + ": what the holders hold")


def test_quit_by_key():
    with Recording("key") as recording:
        terminal = Terminal(VRAMTRACE, "live", "--interval", "200ms", recording.trace)
        terminal.wait_for(rb"allocated +\d[\d.]* .*\+?-?[\d.]+ \w+ in [\d.]+ ")
        terminal.wait_for(rb", [\d,]+ a second; none lost")
        terminal.wait_for("looks .*[▁▂▃▄▅▆▇█]".encode())
        terminal.send(b"q")
        same(terminal.ended(), 0, "status after q")
        assert "recording" in terminal.after() and "allocated" in terminal.after(), terminal.after()


def test_quit_by_ctrl_c():
    with Recording("ctrl_c") as recording:
        terminal = Terminal(VRAMTRACE, "live", recording.trace)
        terminal.wait_for(rb"q: quit")
        terminal.send(b"\x03")
        same(terminal.ended(), 0, "status after Ctrl-C")


def test_quit_by_signal_and_hangup():
    with Recording("hangup") as recording:
        for number in (signal.SIGTERM, signal.SIGHUP):
            terminal = Terminal(VRAMTRACE, "live", recording.trace)
            terminal.wait_for(rb"q: quit")
            terminal.process.send_signal(number)
            same(terminal.ended(), 0, "status after a signal")


def test_stop_and_go_on():
    with Recording("stop") as recording:
        terminal = Terminal(VRAMTRACE, "live", "--interval", "200ms", recording.trace)
        terminal.wait_for(rb"q: quit")
        # As by a shell: the terminal is the user's while the program is stopped.
        terminal.process.send_signal(signal.SIGTSTP)
        wait_until(lambda: open("/proc/%d/stat" % terminal.process.pid).read().rsplit(")", 1)[1].split()[0] == "T", "the stop")
        terminal.read(0.2)
        assert terminal.data.endswith(GIVE), "the screen is not the user's while it is stopped"
        same(termios.tcgetattr(terminal.slave)[:6], terminal.before[:6], "the terminal's settings while it is stopped")
        terminal.process.send_signal(signal.SIGCONT)
        terminal.wait_for(rb"(?s)\[\?1049l.*\[\?1049h.*q: quit")
        terminal.send(b"q")
        same(terminal.ended(), 0, "status")


def test_resize():
    with Recording("resize") as recording:
        terminal = Terminal(VRAMTRACE, "live", recording.trace, lines=50, columns=150)
        terminal.wait_for(rb"q: quit")
        for lines, columns in ((12, 60), (40, 110)):
            terminal.data = TAKE
            terminal.resize(lines, columns)
            terminal.wait_for(rb"\x1b\[J")
            shown = terminal.data.split(b"\x1b[H")[1].split(b"\x1b[J")[0].replace(b"\x1b[K", b"").decode()
            shown = re.sub(r"\x1b\[\d*m", "", shown)
            rows = shown.split("\r\n")
            assert len(rows) <= lines, f"{len(rows)} lines on a screen of {lines}"
            assert max(map(len, rows)) <= columns, f"lines of {max(map(len, rows))} on a screen of {columns}"
        terminal.send(b"q")
        same(terminal.ended(), 0, "status")


def test_file_end():
    with Recording("end") as recording:
        terminal = Terminal(VRAMTRACE, "live", "--interval", "100ms", recording.trace)
        terminal.wait_for(rb"q: quit")
        recording.stop()
        same(terminal.ended(), 0, "status at the end of the recording")
        assert "the recording is over" in terminal.after(), terminal.after()


def test_last_look_is_the_report():
    """Many looks in a row come to the same as one replay of the whole."""
    with Recording("looks") as recording:
        process = subprocess.Popen([VRAMTRACE, "live", "--json", "--interval", "60ms", recording.trace], stdout=subprocess.PIPE, text=True)
        time.sleep(3)
        recording.stop()
        out = process.communicate(timeout=30)[0]
        same(process.returncode, 0, "status")
        looks = [json.loads(line) for line in out.splitlines()]
        assert len(looks) > 5, f"{len(looks)} looks in 3 s"
        assert looks[-1]["ended"] and not looks[0]["ended"], "ended"
        same([l["time_ns"] for l in looks], sorted(l["time_ns"] for l in looks), "times")
        assert any((l["events_per_second"] or 0) > 0 for l in looks), "no rate"
        same_as_report(looks[-1], recording.trace, "the last look")
        same(looks[-1]["lost"], 0, "losses")


def test_by_pid():
    with Recording("pid") as recording:
        children = open("/proc/%d/task/%d/children" % (recording.process.pid, recording.process.pid)).read().split()
        for pid in (recording.process.pid, *children):
            done = subprocess.run([VRAMTRACE, "live", "--once", "--json", str(pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if done.returncode == 0:
                same(os.path.realpath(json.loads(done.stdout)["file"]), os.path.realpath(recording.trace), f"the trace of {pid}")
        same(done.returncode, 0, "the recorded process: " + done.stderr.decode())
    done = subprocess.run([VRAMTRACE, "live", str(os.getpid())], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode in (2, 3) and done.stderr, f"a process that is not recorded: {done}"


def test_usage():
    for arguments, status in ((("--interval", "1ns", "x"), 2), (("--at", "peak", "x"), 2), ((), 2), (("/nowhere.vramtrace",), 4)):
        done = subprocess.run([VRAMTRACE, "live", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode in (status, 3), f"live {arguments}: {done}"


run_tests(globals())
