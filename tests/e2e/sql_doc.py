#!/usr/bin/env python3
"""sql_doc.py VRAMTRACE SOURCE: each question of docs/sql.md, asked of the trace that it names, has the answer that stands there.
UPDATE_GOLDEN=1 writes the answers anew."""
import os
import re
import subprocess
import sys

program, source = sys.argv[1], sys.argv[2]
path = os.path.join(source, "docs", "sql.md")
trace = os.path.join(source, "tests", "data", "h200_kernels.vramtrace")
BLOCK = re.compile(r"```sql\n(.*?)```\n\n```text\n(.*?)```", re.S)
failed = 0


def ask(sql):
    environment = dict(os.environ, COLUMNS="110", LC_ALL="C.UTF-8")
    return subprocess.run([program, "query", trace], input=sql, capture_output=True, text=True, env=environment)


def answer(match):
    global failed
    sql, expected = match.groups()
    done = ask(sql)
    if done.returncode or done.stdout != expected:
        failed += 1
        print(f"FAIL: {sql}status {done.returncode} {done.stderr}\n{done.stdout}")
    return f"```sql\n{sql}```\n\n```text\n{done.stdout}```"


with open(path, encoding="utf-8") as f:
    text = f.read()
fresh = BLOCK.sub(answer, text)
count = len(BLOCK.findall(text))
if os.environ.get("UPDATE_GOLDEN") and fresh != text:
    with open(path, "w", encoding="utf-8") as f:
        f.write(fresh)
print(f"{count} questions, {failed} with another answer")
sys.exit(1 if failed or count < 20 else 0)
