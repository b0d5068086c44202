"""check_info.py VRAMTRACE MAKE_TRACE: `info` against plain SQL, and `check` on a good file and on damaged copies."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

vramtrace, make_trace = sys.argv[1:3]
failures = 0


def expect(condition, message):
    global failures
    if not condition:
        failures += 1
        print("FAIL:", message)


def run(*arguments):
    return subprocess.run([vramtrace, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def sql(path, statement, *arguments):
    connection = sqlite3.connect(path)
    with connection:
        rows = connection.execute(statement, arguments).fetchall()
    connection.close()
    return rows


def info(path):
    result = run("info", "--json", path)
    expect(result.returncode == 0, "info: " + result.stderr)
    found = json.loads(result.stdout)
    expect(found["vramtrace"]["command"] == "info" and found["vramtrace"]["schema"] == 1, "info: heading")
    expect(found["file_bytes"] == os.path.getsize(path), "info: file_bytes")
    kinds = {kind["name"]: kind for kind in found["kinds"]}
    names = dict(sql(path, "SELECT id, name FROM schema_event"))
    for number, events, chunks, stored, first, last in sql(
        path, "SELECT kind, sum(events), count(*), sum(length(data)), min(first_ns), max(last_ns) FROM chunk GROUP BY kind"
    ):
        kind = kinds[names[number]]
        expect((kind["events"], kind["chunks"], kind["stored_bytes"]) == (events, chunks, stored), "info: %s" % kind)
        expect(kind["last_ns"] - kind["first_ns"] == last - first, "info: times of %s" % kind)
    for table in ("note", "string", "op_node", "stack", "oom"):
        rows = sql(path, "SELECT count(*) FROM " + table)[0][0]
        expect(kinds.get(table, {"events": 0})["events"] == rows, "info: rows of " + table)
    expect(found["events"] == sum(kind["events"] for kind in found["kinds"]), "info: sum of events")
    pids = [process["pid"] for process in found["processes"]]
    expect(pids == [row[0] for row in sql(path, "SELECT pid FROM process ORDER BY id")], "info: processes")
    losses = sql(path, "SELECT process, count FROM loss WHERE count > 0 ORDER BY process, kind")
    expect([(loss["process"], loss["count"]) for loss in found["losses"]] == losses, "info: losses")
    text = run("info", path)
    expect(text.returncode == 0 and "tensor" in text.stdout and "rocesses" in text.stdout, "info: text")
    expect("\033" not in text.stdout, "info: colour into a pipe")


def check_whole(path):
    result = run("check", path)
    expect(result.returncode == 0 and ": whole" in result.stdout, "check of a good file: " + result.stdout + result.stderr)
    found = json.loads(run("check", "--json", path).stdout)
    events = sql(path, "SELECT sum(events), count(*) FROM chunk")[0]
    expect(found["whole"] is True and found["problems"] == [], "check: %s" % found["problems"])
    expect((found["checked"]["events"], found["checked"]["chunks"]) == events, "check: %s" % found["checked"])


def check_damaged(good, name, damage, says):
    bad = "%s.%s" % (good, name)
    shutil.copy(good, bad)
    damage(bad)
    text, found = run("check", bad), run("check", "--json", bad)
    for result in (text, found):
        expect(result.returncode == 3, "%s: check exits with %d: %s" % (name, result.returncode, result.stderr))
    output = text.stdout + text.stderr
    expect(says in output, "%s: check does not say '%s' but '%s'" % (name, says, output))
    if found.stdout:
        report = json.loads(found.stdout)
        expect(report["whole"] is False and report["problem_count"] == len(report["problems"]) > 0, name)
        expect(all(problem["advice"] and problem["what"] for problem in report["problems"]), name + ": advice")
    # Other commands may refuse the file, but none may crash.
    for command in ("info", "report", "ops", "oom"):
        result = run(command, bad)
        expect(result.returncode in (0, 3, 4), "%s: %s exits with %d" % (name, command, result.returncode))


def flip_in_chunk(path):
    (number, data) = sql(path, "SELECT id, data FROM chunk ORDER BY length(data) DESC LIMIT 1")[0]
    middle = len(data) // 2
    sql(path, "UPDATE chunk SET data = ? WHERE id = ?", data[:middle] + bytes([data[middle] ^ 16]) + data[middle + 1 :], number)


def truncate(path):
    os.truncate(path, os.path.getsize(path) // 2)


def write_text(path):
    with open(path, "w", encoding="ascii") as file:
        file.write("this is no trace\n" * 100)


def main():
    with tempfile.TemporaryDirectory() as directory:
        good = os.path.join(directory, "good.vramtrace")
        subprocess.run([make_trace, good], check=True)
        info(good)
        check_whole(good)
        in_tensor = " WHERE kind = (SELECT id FROM schema_event WHERE name = 'tensor')"
        one_tensor = " WHERE id = (SELECT min(id) FROM chunk" + in_tensor + ")"
        op = "(SELECT node FROM (SELECT max(id) AS node FROM op_node))"
        for name, damage, says in (
            ("flip", flip_in_chunk, "checksum"),
            ("events", lambda path: sql(path, "UPDATE chunk SET events = events + 1" + one_tensor), "chunk"),
            ("times", lambda path: sql(path, "UPDATE chunk SET last_ns = last_ns + 1" + one_tensor), "times"),
            ("kind", lambda path: sql(path, "UPDATE chunk SET kind = 3" + one_tensor), "chunk"),
            ("ops", lambda path: sql(path, "DELETE FROM op_node"), "op_node"),
            ("strings", lambda path: sql(path, "DELETE FROM string"), "string"),
            ("oneop", lambda path: sql(path, "UPDATE op_node SET parent = 99999 WHERE id = " + op), "op_node.parent"),
            ("truncated", truncate, ""),
            ("text", write_text, "not a"),
            ("newer", lambda path: sql(path, "UPDATE meta SET value = 'new_codec' WHERE key = 'incompatible_flags'"), "new_codec"),
        ):
            check_damaged(good, name, damage, says)
        for arguments, says in (((), "no FILE"), ((good, good), "one FILE"), (("/nowhere/x",), "nowhere")):
            result = run("check", *arguments)
            expect(result.returncode in (2, 3, 4) and says in result.stderr, "check %s: %s" % (arguments, result.stderr))
    print("%d failures" % failures)
    sys.exit(failures != 0)


main()
