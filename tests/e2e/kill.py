"""100 SIGKILLs of the program at random moments: nothing that it had reported is missing, nothing is there twice.

  kill.py BIN_DIR FAKE_DIR [KILLS]

The program counts what it reported in shared memory of its own, after each report returned and under one mutex: the
trace holds as many events as were counted, or one more.
"""
import concurrent.futures
import os
import random
import signal
import sys
import time

from recording import FAKE_TORCH, KILLED, counted, facts, lost, path, same, start, total, wait_until

KILLS = int(sys.argv[3]) if len(sys.argv) > 3 else 100
DELIVER = (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT)


def kill_one(number):
    dice = random.Random(number)
    trace, counters = path("%d.vramtrace" % number), path("%d.counters" % number)
    how = signal.SIGKILL if number < KILLS else DELIVER[number % len(DELIVER)]
    # From one event in 20 microseconds to as many as go.
    pace = ["--pause-us", "20"] if number % 4 else []
    threads = str(1 + number % 4)
    process = start(trace, FAKE_TORCH, "--counters", counters, "--threads", threads, *pace, "forever")
    wait_until(lambda: os.path.exists(counters) and counted(counters)[0] > 0, "the program allocates")
    time.sleep(dice.random() * 0.15)
    children = "/proc/%d/task/%d/children" % (process.pid, process.pid)
    with open(children) as f:
        os.kill(int(f.read()), how)
    _, err = process.communicate(timeout=60)
    same(process.returncode, 128 + how, "status")
    found = facts(trace)
    one, = found["processes"]
    same(one["end_state"], KILLED, "end state")
    have = total(found, "allocs") + total(found, "frees") + lost(found).get("ring full", 0)
    want = sum(counted(counters)[:2])
    assert 0 <= have - want <= 1, "kill %d: %d events in the trace, %d counted; %s" % (number, have, want, err)
    assert pace == [] or lost(found) == {}, found
    for name in (trace, counters):
        os.unlink(name)
    return have


def main():
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        events = list(pool.map(kill_one, range(KILLS + 10)))
    print("%d SIGKILLs and %d other deadly signals, %d events, none missing or doubled, %.1f s"
          % (KILLS, 10, sum(events), time.monotonic() - begin))


main()
