"""check_schema.py SCHEMA_PRINT SOURCE - the schema is what its lock and its document say.

Numbers in a trace live for ever: what a version once wrote must read the same in every later one. tests/golden/schema
holds a file per version, vN.lock, with a line for every number of that version. UPDATE_GOLDEN=1 adds lines that are new
to the lock of the present version and makes the tables of schema/format.md anew; it never takes a line away.
"""
import os
import pathlib
import re
import subprocess
import sys

printer, source = sys.argv[1], pathlib.Path(sys.argv[2])
document = source / "schema/format.md"
version = re.search(r"#define VT_STORE_VERSION (\d+)", (source / "schema/store.h").read_text()).group(1)
present = source / f"tests/golden/schema/v{version}.lock"
update = os.environ.get("UPDATE_GOLDEN") == "1"
problems = []


def printed(*arguments):
    return subprocess.run([printer, *arguments], check=True, capture_output=True, text=True).stdout


def key(line):
    """What the line is about: "event 1", "column 1.2", "value driver_api.3"."""
    return " ".join(line.split()[:2])


now = printed("lock").splitlines()
retired = {line.removeprefix("retired ") for line in now if line.startswith("retired ")}
by_key = {key(line): line for line in now if not line.startswith("retired ")}
if len(by_key) + len(retired) != len(now):
    problems.append("two lines of the schema have one number")

locked = set()
for path in sorted((source / "tests/golden/schema").glob("v*.lock")):
    for line in path.read_text().splitlines():
        locked.add(line)
        kind, number = key(line).split()
        is_retired = key(line) in retired or (kind == "column" and f"event {number.split('.')[0]}" in retired)
        if is_retired and key(line) in by_key:
            problems.append(f"{path.name}: retired, and used again: {line}")
        elif not is_retired and by_key.get(key(line)) != line:
            problems.append(f"{path.name}: was: {line}\n  is:  {by_key.get(key(line), 'gone (see RETIRED_ in events.def)')}")

new = [line for line in by_key.values() if line not in locked]
if new and update and not problems:
    with present.open("a") as file:
        file.write("".join(line + "\n" for line in new))
elif new:
    problems += [f"not in {present.name} (UPDATE_GOLDEN=1 adds it): {line}" for line in new]

wanted = printed("document", str(document))
if update and wanted != document.read_text():
    document.write_text(wanted)
elif wanted != document.read_text():
    problems.append(f"{document} does not say what events.def says: UPDATE_GOLDEN=1 makes its tables anew")

print("\n".join(problems))
sys.exit(1 if problems else 0)
