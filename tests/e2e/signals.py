"""Signals: what somebody sends to the recorder reaches the program once; what the terminal sends, too, and not twice.

  signals.py BIN_DIR FAKE_DIR
"""
import os
import pty
import re
import signal
import subprocess
import sys
import time

from recording import RECORDER, path, run_tests, same, start, wait_until

# Says which signals came, until told to end by SIGTERM.
PROGRAM = """
import os, signal, sys, time
def on(number, frame):
    os.write(1, b"got %d\\n" % number)
    if number == signal.SIGTERM:
        os._exit(5)
for s in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT):
    signal.signal(s, on)
os.write(1, b"ready\\n")
while True:
    time.sleep(10)
"""


def state_of(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return int(f.read().split()[0])


def test_sent_to_the_recorder():
    process = start(path("sent.vramtrace"), sys.executable, "-c", PROGRAM)
    same(process.stdout.readline(), "ready\n", "start")
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1):
        process.send_signal(number)
        same(process.stdout.readline(), "got %d\n" % number, "signal")
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)
    same((out, process.returncode), ("got %d\n" % signal.SIGTERM, 5), "the end")


def test_deadly():
    process = start(path("deadly.vramtrace"), "sh", "-c", "echo ready; exec sleep 100")
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    same(process.returncode, 128 + signal.SIGTERM, "status")


def test_stop_and_continue():
    """SIGTSTP to the recorder stops both, SIGCONT lets both go on."""
    # In a process group of its own: in an orphaned one, as a CI runner may be, SIGTSTP stops nobody.
    process = start(path("stop.vramtrace"), "sh", "-c", "echo ready; exec sleep 100", preexec_fn=lambda: os.setpgid(0, 0))
    process.stdout.readline()
    program = child_of(process.pid)
    process.send_signal(signal.SIGTSTP)
    wait_until(lambda: state_of(program) == "T" and state_of(process.pid) == "T", "both are stopped")
    process.send_signal(signal.SIGCONT)
    wait_until(lambda: state_of(program) != "T" and state_of(process.pid) != "T", "both go on")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    same(process.returncode, 128 + signal.SIGTERM, "status")


class Terminal:
    """The recorder as the foreground job of a terminal."""

    def __init__(self, trace, *program):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(RECORDER, [RECORDER, "record", "-q", "-o", trace, "--", *program])
        self.text = ""

    def read_until(self, pattern):
        deadline = time.monotonic() + 20
        while not re.search(pattern, self.text):
            assert time.monotonic() < deadline, "no %r in %r" % (pattern, self.text)
            try:
                self.text += os.read(self.fd, 4096).decode()
            except OSError:
                time.sleep(0.01)

    def press(self, keys):
        os.write(self.fd, keys)


def test_terminal_interrupt():
    terminal = Terminal(path("tty.vramtrace"), sys.executable, "-c", PROGRAM)
    terminal.read_until("ready")
    terminal.press(b"\x03")
    terminal.read_until("got 2")
    terminal.press(b"\x1c")
    terminal.read_until("got 3")
    os.kill(child_of(terminal.pid), signal.SIGTERM)
    terminal.read_until("got 15")
    _, status = os.waitpid(terminal.pid, 0)
    same(os.waitstatus_to_exitcode(status), 5, "status")
    same((terminal.text.count("got 2"), terminal.text.count("got 3")), (1, 1), "interrupts: " + terminal.text)


def test_terminal_stop():
    terminal = Terminal(path("ttystop.vramtrace"), sys.executable, "-c", PROGRAM)
    terminal.read_until("ready")
    program = child_of(terminal.pid)
    # An orphaned process group ignores Ctrl-Z; with a parent in the session it would not, so send what a shell's
    # terminal sends: SIGTSTP to the whole group, from the outside.
    os.kill(program, signal.SIGSTOP)
    os.kill(terminal.pid, signal.SIGTSTP)
    _, status = os.waitpid(terminal.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), status
    os.killpg(terminal.pid, signal.SIGCONT)
    terminal.read_until("got %d" % signal.SIGCONT)
    os.kill(terminal.pid, signal.SIGTERM)
    _, status = os.waitpid(terminal.pid, 0)
    same(os.waitstatus_to_exitcode(status), 5, "status")


def test_grace_is_cut_short():
    """Ctrl-C while only left-over processes are waited for ends the wait."""
    process = start(path("grace.vramtrace"), "sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!", options=["--grace", "50"])
    sleeper = int(process.stdout.readline())
    time.sleep(0.5)
    same(process.poll(), None, "the recorder waits")
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert time.monotonic() - begin < 5
    same(process.returncode, 0, "status")
    os.kill(sleeper, signal.SIGKILL)


run_tests(globals())
