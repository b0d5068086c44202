"""check_reader.py VRAMTRACE READ_TRACE MAKE_TRACE [TRACE...] - an independent reader and `vramtrace export` say the same.

Of each TRACE, and of the one that the program MAKE_TRACE writes, which has every kind of event. Then that one becomes a
trace of a later version, with kinds and columns that neither knows, and at last one that needs a newer reader.
"""
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import zlib

vramtrace, reader, maker, traces = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
TABLES = {"process", "thread", "clock", "loss"}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def columns_of(path):
    """{event: its columns}, to leave out what export adds beside them."""
    columns = {}
    for event, column in sqlite3.connect(path).execute(
            "SELECT e.name, c.name FROM schema_column AS c JOIN schema_event AS e ON e.id = c.event"):
        columns.setdefault(event, {"event", "process", "bytes"}).add(column)
    return columns


def compare(path):
    columns = columns_of(path)
    theirs = run(vramtrace, "export", "--format", "json", "--all", str(path))
    ours = run(sys.executable, reader, str(path))
    assert theirs.returncode == 0 and ours.returncode == 0, theirs.stderr + ours.stderr
    exported = [{k: v for k, v in line.items() if k in columns[line["event"]]} for line in lines_of(theirs.stdout)
                if line["event"] not in TABLES]
    read = lines_of(ours.stdout)
    assert read, "nothing to compare"
    canonical = [sorted(json.dumps(line, sort_keys=True) for line in lines) for lines in (exported, read)]
    different = set(canonical[0]) ^ set(canonical[1])
    assert canonical[0] == canonical[1], f"{path.name}: {len(different)} lines differ: {sorted(different)[:4]}"
    return {line["event"] for line in read}


def make_newer(path):
    """A trace as version 2 might write it: more kinds, more columns, nothing taken away."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 2")
    db.execute("INSERT INTO schema_event(id, name, class, since, doc) VALUES(30, 'future', 'CHUNK', 2, '')")
    db.execute("INSERT INTO schema_event(id, name, class, since, doc) VALUES(99, 'later', 'TABLE', 2, '')")
    db.execute("INSERT INTO schema_column VALUES(30, 1, 'time_ns', 'U64', 'DELTA', 'NS', 2, '')")
    db.execute("INSERT INTO schema_column VALUES(99, 1, 'id', 'U32', 'RAW', 'ID', 2, '')")
    db.execute("INSERT INTO schema_column VALUES(52, 9, 'colour', 'U32', 'RAW', 'NONE', 2, '')")
    db.execute("CREATE TABLE later(process INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY(process, id)) WITHOUT ROWID")
    db.execute("INSERT INTO later VALUES(1, 5)")
    db.execute("ALTER TABLE stack ADD COLUMN colour INTEGER NOT NULL DEFAULT 7")
    data = b"only a later version knows what this is"
    db.execute("INSERT INTO chunk(process, kind, first_ns, last_ns, events, raw_bytes, checksum, data)"
               " VALUES(1, 31, 1, 2, 2, 100, ?, ?)", (zlib.crc32(data), data))
    db.commit()


with tempfile.TemporaryDirectory() as directory:
    for trace in traces:
        compare(pathlib.Path(trace))
    trace = pathlib.Path(directory) / "made.vramtrace"
    made = run(maker, str(trace))
    assert made.returncode == 0, made.stderr
    seen = compare(trace)
    known = {row[0] for row in sqlite3.connect(trace).execute("SELECT name FROM schema_event")}
    assert known == seen, f"the trace lacks {known - seen}"
    before = run(vramtrace, "export", "--format", "json", "--all", str(trace))

    make_newer(trace)
    after = run(vramtrace, "export", "--format", "json", "--all", str(trace))
    assert after.returncode == 0, after.stderr
    assert after.stdout == before.stdout, "what is known reads otherwise in a newer file"
    info = run(vramtrace, "info", str(trace))
    assert all(name in info.stdout + info.stderr for name in ("future", "later", "stack.colour")), info.stdout + info.stderr
    read = run(sys.executable, reader, str(trace))
    assert read.returncode == 0 and "event 31 is not described" in read.stderr, read.stderr

    sqlite3.connect(trace, isolation_level=None).execute("UPDATE meta SET value = 'folded' WHERE key = 'incompatible_flags'")
    for command in ((vramtrace, "info"), (sys.executable, reader)):
        refused = run(*command, str(trace))
        assert refused.returncode != 0 and "folded" in refused.stderr, refused.stderr
