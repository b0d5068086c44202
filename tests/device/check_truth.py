#!/usr/bin/env python3
"""check_truth.py TRUTH SEEN [--allow-extra]: what a truth program says it did against what vramtrace recorded of it.

TRUTH   standard output of a program of kernels/ (JSON lines, closed by an "end" line)
SEEN    output of `vramtrace export --format json` for the same run (JSON lines: {"event": ..., columns})

Each thread's driver_memory events must be the calls that the thread says it made: all of them, in that order, no other
ones (--allow-extra: other ones may lie between them), equal in every column that the program names. Each device_sample
that the program names must be among the recorded ones. Prints every difference; ends with status 1 if there is any.
"""
import argparse
import json
import os
import re
import sys

ENUMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "schema", "enums.def")


def driver_apis():
    """Number of an API -> its text, from the one definition."""
    with open(ENUMS, encoding="utf-8") as f:
        found = re.findall(r'^VALUE\(driver_api, \w+, (\d+), "([^"]*)"\)', f.read(), re.M)
    return {int(number): text for number, text in found}


def read_lines(path):
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if not line.strip():
                continue
            try:
                event = json.loads(line)
            except ValueError as error:
                raise SystemExit(f"{path}:{number}: not JSON: {error}") from error
            if isinstance(event, dict):
                yield event


def read_truth(path):
    calls, samples, ends = {}, [], 0
    for event in read_lines(path):
        kind = event.pop("event", None)
        if kind == "driver_memory":
            calls.setdefault(event["thread"], []).append(event)
        elif kind == "device_sample":
            samples.append(event)
        elif kind == "end":
            ends += 1
    if not ends:
        raise SystemExit(f"{path}: no end line: the program did not reach its end")
    if not calls:
        raise SystemExit(f"{path}: names no call: nothing would be checked")
    return calls, samples


def number(value):
    """A column's value as the program would write it: addresses may be exported as hexadecimal text."""
    if isinstance(value, str) and re.fullmatch(r"0x[0-9a-fA-F]+", value):
        return int(value, 16)
    return value


def read_seen(path):
    apis = driver_apis()
    calls, samples = {}, []
    for event in read_lines(path):
        kind = event.get("event", event.get("kind"))
        event = {name: number(value) for name, value in event.items()}
        if kind == "driver_memory":
            event["api"] = apis.get(event["api"], event["api"])
            calls.setdefault(event["thread"], []).append(event)
        elif kind == "device_sample":
            samples.append(event)
    for thread in calls.values():
        thread.sort(key=lambda event: event["time_ns"])
    return calls, samples


def differences(truth, seen):
    """Columns in which a recorded event is not what the program says."""
    return [f"{name}: {seen.get(name)} instead of {value}" for name, value in truth.items() if seen.get(name) != value]


def shown(event):
    names = ("api", "address", "size_bytes", "handle", "stream", "result")
    return " ".join(f"{name}={event[name]}" for name in names if name in event)


def check_thread(thread, truth, seen, allow_extra):
    problems = []
    at = 0
    for index, call in enumerate(truth):
        while allow_extra and at < len(seen) and differences(call, seen[at]):
            at += 1
        if at >= len(seen):
            problems.append(f"thread {thread}, call {index}: not recorded: {shown(call)}")
            break
        wrong = differences(call, seen[at])
        if wrong:
            problems.append(
                f"thread {thread}, call {index}: {shown(call)}: recorded {shown(seen[at])}: " + "; ".join(wrong))
            break
        if not seen[at]["start_ns"] <= seen[at]["time_ns"]:
            problems.append(f"thread {thread}, call {index}: ends before it begins")
        at += 1
    else:
        if not allow_extra:
            problems += [f"thread {thread}: not a call of the program: {shown(event)}" for event in seen[at:]]
    return problems


def check(truth_path, seen_path, allow_extra):
    truth, truth_samples = read_truth(truth_path)
    seen, seen_samples = read_seen(seen_path)
    problems = []
    for thread, calls in truth.items():
        problems += check_thread(thread, calls, seen.get(thread, []), allow_extra)
    if not allow_extra:
        problems += [f"thread {thread}: a thread of which the program says nothing: {shown(calls[0])}"
                     for thread, calls in seen.items() if thread not in truth]
    for sample in truth_samples:
        if all(differences(sample, recorded) for recorded in seen_samples):
            problems.append(f"no device_sample with {sample} among {len(seen_samples)}")
    return problems, sum(map(len, truth.values())), len(truth_samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("truth")
    parser.add_argument("seen")
    parser.add_argument("--allow-extra", action="store_true", help="calls that the program does not name are no fault")
    options = parser.parse_args()
    problems, calls, samples = check(options.truth, options.seen, options.allow_extra)
    for problem in problems:
        print(problem)
    print(f"{calls} calls and {samples} samples named by the program, {len(problems)} differences")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
