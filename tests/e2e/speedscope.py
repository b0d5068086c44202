#!/usr/bin/env python3
"""speedscope.py VRAMTRACE TRACE...: speedscope itself, in Chromium, opens what `export --format speedscope` writes, and its
own JSON schema takes it. VT_SPEEDSCOPE names the directory of the npm package `speedscope`."""
import base64
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.environ.get("VT_SPEEDSCOPE")
if not PACKAGE:
    print("SKIP: VT_SPEEDSCOPE names no directory of the npm package `speedscope`")
    sys.exit(77)
try:
    import jsonschema
except ImportError:
    # The Python that has other readers may have this one.
    if os.environ.get("VT_PERFETTO_PYTHON") and not os.environ.get("VT_SPEEDSCOPE_RERUN"):
        os.execve(os.environ["VT_PERFETTO_PYTHON"], [os.environ["VT_PERFETTO_PYTHON"], *sys.argv], {**os.environ, "VT_SPEEDSCOPE_RERUN": "1"})
    jsonschema = None
sys.path.insert(0, HERE)
from browser import Browser, find_chromium  # noqa: E402

failures = 0


def expect(condition, message):
    global failures
    if not condition:
        failures += 1
        print("FAIL:", message)


def check_schema(name, profile):
    if not jsonschema:
        print("no jsonschema here: speedscope's schema was not asked")
        return
    schema = json.load(open(os.path.join(PACKAGE, "dist/release/file-format-schema.json")))
    try:
        jsonschema.validate(profile, schema)
    except jsonschema.ValidationError as error:
        expect(False, f"{name}: {error.message[:300]}")


def check(browser, vramtrace, trace, folder):
    name = os.path.basename(trace)
    text = subprocess.run([vramtrace, "export", "--quiet", "--format", "speedscope", trace], stdout=subprocess.PIPE, check=True).stdout
    profile = json.loads(text)
    check_schema(name, profile)
    # As its command line program hands a file over.
    script = os.path.join(folder, "profile.js")
    with open(script, "w") as file:
        file.write(f"speedscope.loadFileFromBase64({json.dumps(name)}, {json.dumps(base64.b64encode(text).decode())})")
    browser.go("about:blank")
    browser.go(f"file://{PACKAGE}/dist/release/index.html#localProfilePath={script}")
    first = profile["profiles"][0]["name"]
    browser.wait_for(f"document.body?.innerText.includes({json.dumps(first)})", 30)
    words = browser.evaluate("document.body.innerText")
    expect("Something went wrong" not in words, f"{name}: speedscope: {words[:300]}")
    expect(f"1/{len(profile['profiles'])}" in words, f"{name}: speedscope shows {words[:200]}")
    expect(not browser.problems, f"{name}: {browser.problems[:2]}")
    if os.environ.get("VT_PICTURES"):
        browser.picture(os.path.join(os.environ["VT_PICTURES"], f"speedscope_{name}.png"))


def main():
    vramtrace, traces = sys.argv[1], sys.argv[2:]
    find_chromium()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        for trace in traces:
            check(browser, vramtrace, trace, folder)
    sys.exit(failures > 0)


main()
