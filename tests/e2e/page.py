#!/usr/bin/env python3
"""page.py VRAMTRACE MAKE_VIEWS_TRACE MAKE_HOSTILE_TRACE TRACE...: the page of `vramtrace html` in a real browser: what it
shows against the reports and a count over `export --format json`; mouse, keys, themes; hostile names; no network.

VT_PICTURES names a directory that gets pictures of the page.
"""
import base64
import contextlib
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from browser import start_browser  # noqa: E402

READY = "document.documentElement?.dataset.ready === 'yes'"
failures = 0


def expect(condition, message):
    global failures
    if not condition:
        failures += 1
        print("FAIL:", message)


def run(*command, status=0):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect(done.returncode == status, f"{' '.join(command)}: status {done.returncode}: {done.stderr.decode()[:300]}")
    return done.stdout


def format_bytes(value):
    """As PyTorch says it."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            return f"{value} B" if unit == "B" else f"{value:.2f} {unit}"
        value /= 1024


def unpack(path):
    text = open(path, encoding="utf-8").read()
    data = text.split('<script id="data" type="text/plain">')[1].split("</script>")[0]
    return [json.loads(part) for part in gzip.decompress(base64.b64decode(data)).decode().split("\x1e")]


def add_up(differences):
    out, value = [], 0
    for difference in differences:
        value += difference
        out.append(value)
    return out


def check_data(vramtrace, trace, path):
    """The bins and series against the events themselves."""
    page, report, *_ = unpack(path)
    events = [json.loads(line) for line in run(vramtrace, "export", "--format", "json", trace).decode().splitlines()]
    origin = report["origin_ns"]
    for device in page["devices"]:
        key = (device["process"], device["device_type"], device["device"])
        own = [e for e in events if e["event"] == "tensor" and (e["process"], e["device_type_text"], e["device"]) == key]
        ats, allocated, reserved = (add_up(device[name]) for name in ("ats", "allocateds", "reserveds"))
        expect(ats == sorted(ats), f"{trace}: moments are not in order")
        totals = {e["time_ns"] - origin: (e["allocated_bytes"], e["reserved_bytes"]) for e in own}
        for time, value, segments in zip(ats, allocated, reserved):
            if time in totals:
                expect(totals[time][0] == value, f"{trace}: allocated at {time}: {value}, not {totals[time][0]}")
                expect(totals[time][1] == segments, f"{trace}: reserved at {time}: {segments}, not {totals[time][1]}")
        expect(sum(time in totals for time in ats) > 0.5 * len(ats), f"{trace}: few moments are those of events")
        peak = max(e["allocated_bytes"] for e in own)
        expect(max(allocated) == peak, f"{trace}: the greatest moment {max(allocated)} is not the peak {peak}")
        # Each kind of series adds up to the whole, at every moment: these traces begin with the process.
        for by, series in device["series"].items():
            sums = [0] * len(ats)
            for one in series:
                value, at = 0, 0
                pairs = one["changes"]
                changes = defaultdict(int)
                for i in range(0, len(pairs), 2):
                    at += pairs[i]
                    changes[at] += pairs[i + 1]
                for i in range(len(ats)):
                    value += changes[i]
                    sums[i] += value
            wrong = [i for i in range(len(ats)) if sums[i] != allocated[i]]
            expect(not wrong, f"{trace}: series by {by} do not add up at {len(wrong)} of {len(ats)} moments")
        check_blocks(trace, page, device, own, origin)
        check_segments(trace, device, dict(zip(ats, zip(allocated, reserved))))
    check_flame(trace, page, report)


def check_blocks(trace, page, device, own, origin):
    live, lives = {}, {}
    for event in own:
        if event["size_bytes"] > 0:
            live[event["address"]] = (event["size_bytes"], event["time_ns"] - origin)
        else:
            size, start = live.pop(event["address"])
            lives[event["address"], start] = (size, event["time_ns"] - origin)
    for address, (size, start) in live.items():
        lives[address, start] = (size, -1)
    for block in device["blocks"]:
        found = lives.get((int(block[0], 16), block[2]))
        expect(found == (block[1], block[3]), f"{trace}: block {block[:4]} is {found} in the events")
    if len(page["devices"]) == 1:
        expect(page["blocks_seen"] == len(lives), f"{trace}: {page['blocks_seen']} blocks, not {len(lives)}")
    largest = sorted((size for size, _ in lives.values()), reverse=True)[:100]
    expect(sorted((b[1] for b in device["blocks"]), reverse=True)[:100] == largest, f"{trace}: the largest blocks are not kept")


def check_segments(trace, device, figures):
    for moment in device["moments"]:
        used = sum(sum(segment[3][1::2]) for segment in moment["segments"])
        whole = sum(segment[1] for segment in moment["segments"])
        expect(used == moment["live_bytes"], f"{trace}: pieces at {moment['time_ns']}: {used}, not {moment['live_bytes']}")
        for address, size, _, pieces in moment["segments"]:
            expect(sum(pieces) <= size, f"{trace}: segment {address} is too small for what lies in it")
        if moment["time_ns"] in figures:
            allocated, reserved = figures[moment["time_ns"]]
            expect(used + moment["outside_bytes"] == allocated, f"{trace}: {used} in segments of {allocated} allocated")
            # Segments in which no block has been yet are not known to be PyTorch's.
            expect(whole <= reserved, f"{trace}: {whole} in segments, {reserved} reserved")


def check_flame(trace, page, report):
    live = sum(node[2] for node in page["flame"]["nodes"])
    peaks = sum(device["peak_allocated_bytes"] for device in report["devices"])
    total = sum(node[4] for node in page["flame"]["nodes"])
    expect(live == peaks, f"{trace}: the flame graph has {live} at the peak, not {peaks}")
    expect(total == sum(d["allocations_bytes"] for d in report["devices"]), f"{trace}: the flame graph's total is {total}")


def text_of(browser, title):
    """The words of a section."""
    return browser.evaluate("[...document.querySelectorAll('section')].find((s) => s.querySelector('h2').textContent === "
                            f"{json.dumps(title)})?.innerText")


def box_of(browser, selector):
    return browser.evaluate(f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                            " return [r.x, r.y, r.width, r.height]; })()")


def check_sound(browser, name, url):
    expect(not browser.problems, f"{name}: the page's scripts complain: {browser.problems[:3]}")
    expect(browser.requests == [url], f"{name}: the page asks for {[r for r in browser.requests if r != url][:5]}")


def scale_of(browser):
    return browser.evaluate("document.querySelector('.scale').textContent")


def check_use(browser, name, report, oom):
    """Mouse and keys do what they say."""
    device = report["devices"][0]
    browser.key("p")
    words = text_of(browser, "At the cursor")
    expect(format_bytes(device["peak_allocated_bytes"]) in words, f"{name}: no peak at the cursor: {words[:200]}")
    expect("the peak" in words and "held" in words, f"{name}: the moment is not held: {words[:200]}")
    whole = scale_of(browser)
    x, y, width, height = box_of(browser, ".u-over")
    browser.drag(x + width * 0.6, y + height / 2, x + width * 0.9)
    zoomed = scale_of(browser)
    expect(zoomed != whole, f"{name}: a drag does not zoom")
    browser.key("+")
    expect(scale_of(browser) != zoomed, f"{name}: + does not zoom")
    browser.key("0")
    expect(scale_of(browser) == whole, f"{name}: 0 does not show everything")
    browser.key("Escape")
    browser.mouse("mouseMoved", x + width / 2, y + height / 2)
    browser.wait_for("!document.querySelectorAll('section')[2].innerText.includes('held')")
    first = text_of(browser, "At the cursor")
    browser.mouse("mouseMoved", x + width * 0.97, y + height / 2)
    browser.wait_for(f"document.querySelectorAll('section')[2].innerText !== {json.dumps(first)}")
    browser.click(x + width * 0.7, y + height / 2)
    browser.wait_for("document.querySelectorAll('section')[2].innerText.includes('held')")
    seen = set()
    for key in "2341":
        browser.key(key)
        seen.add(text_of(browser, "At the cursor"))
    expect(len(seen) == 4, f"{name}: 1 to 4 show {len(seen)} different things")
    browser.key("p")
    before = text_of(browser, "Story of a block")
    browser.evaluate("[...document.querySelectorAll('section')].find((s) => s.innerText.startsWith('Largest blocks'))"
                     ".querySelectorAll('button.link')[1].click()")
    story = text_of(browser, "Story of a block")
    expect(story != before, f"{name}: a click on a block does not tell it")
    expect("allocated at" in story and "estimated" in story and "kernels" in story, f"{name}: no story: {story[:300]}")
    if oom["ooms"]:
        browser.key("o")
        words = text_of(browser, "Out of memory")
        expect(format_bytes(oom["ooms"][0]["requested_bytes"]) in words, f"{name}: no word of the error: {words[:200]}")
    before = browser.evaluate("document.querySelector('canvas[tabindex]').toDataURL()")
    browser.evaluate("(() => { const s = [...document.querySelectorAll('select')].at(-1); s.value = 1; s.dispatchEvent(new Event('change')); })()")
    expect(browser.evaluate("document.querySelector('canvas[tabindex]').toDataURL()") != before, f"{name}: the flame graph stays")
    browser.evaluate("(() => { const s = [...document.querySelectorAll('select')].at(-1); s.value = 0; s.dispatchEvent(new Event('change')); })()")
    browser.key("?")
    expect(browser.evaluate("document.querySelector('dialog').open"), f"{name}: ? shows no keys")
    browser.evaluate("document.querySelector('dialog').close()")


def color_of(browser):
    return browser.evaluate("getComputedStyle(document.body).backgroundColor")


def take_pictures(browser, name, directory):
    height = browser.evaluate("document.documentElement.scrollHeight")
    for dark in (False, True):
        browser.look(1600, height, dark)
        browser.picture(os.path.join(directory, f"{name}_{'dark' if dark else 'light'}.png"))
    browser.look(700, 1400, False)
    browser.picture(os.path.join(directory, f"{name}_narrow.png"))
    browser.look(1600, 1000, False)
    browser.key("b")
    browser.picture(os.path.join(directory, f"{name}_big.png"))
    browser.key("b")


def check_page(browser, vramtrace, trace, work):
    name = os.path.basename(trace).removesuffix(".vramtrace")
    path = os.path.join(work, f"{name}.html")
    run(vramtrace, "html", "--quiet", "-o", path, trace)
    check_data(vramtrace, trace, path)
    if not browser:
        return
    _, report, oom, fragmentation = unpack(path)
    url = f"file://{path}"
    browser.look(1600, 1000, False)
    browser.go(url)
    browser.wait_for(READY)
    check_use(browser, name, report, oom)
    for moment in fragmentation["moments"]:
        if moment["segments_captured"]:
            expect(moment["sentence"] in text_of(browser, "Fragmentation"), f"{name}: no word of {moment['sentence']}")
    light = color_of(browser)
    browser.look(1600, 1000, True)
    dark = color_of(browser)
    expect(light != dark, f"{name}: dark and light look the same")
    browser.key("t")
    expect(color_of(browser) == light, f"{name}: t does not turn dark to light")
    browser.evaluate("delete document.documentElement.dataset.theme")
    wide = browser.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    expect(wide, f"{name}: the page is wider than the window")
    if os.environ.get("VT_PICTURES"):
        take_pictures(browser, name, os.environ["VT_PICTURES"])
    check_sound(browser, name, url)


def check_hostile(browser, vramtrace, make, work):
    trace, path = os.path.join(work, "hostile.vramtrace"), os.path.join(work, "hostile.html")
    run(make, trace)
    longest = ("\u20ac" * (1 << 20)).encode()[:(1 << 20) - (1 << 20) % 3]
    with contextlib.closing(sqlite3.connect(trace)) as database, database:
        changed = database.execute("UPDATE string SET bytes = ?, size_bytes = ? WHERE bytes = ?", (longest.decode(), len(longest), "LONGEST"))
        expect(changed.rowcount == 1, "hostile: no long text")
    run(vramtrace, "html", "--quiet", "-o", path, trace)
    text = open(path, encoding="utf-8").read()
    expect(text.count("<script") == 3 and text.count("</script>") == 3, "hostile: a name is markup in the file")
    expect(os.path.getsize(path) < 1 << 20, f"hostile: {os.path.getsize(path)} bytes")
    if not browser:
        return
    url = f"file://{path}"
    browser.go(url)
    browser.wait_for(READY)
    for key in "1234p":
        browser.key(key)
    browser.evaluate("document.querySelectorAll('button.link').forEach((button) => button.click())")
    expect(browser.evaluate("typeof window.broken") == "undefined", f"hostile: a name ran as script {browser.evaluate('window.broken')}")
    expect(browser.evaluate("document.querySelectorAll('img, iframe, b, script:not([id])').length") == 2, "hostile: a name became an element")
    words = browser.evaluate("document.body.innerText")
    expect("</script><script>window.broken = 5</script>" in words, "hostile: the command is not shown as it is")
    expect("</script><script>window.broken = 1</script>" in words, "hostile: the op is not shown as it is")
    expect(not any(mark in words for mark in "\u202e\u202c\u200f\u2066"), "hostile: a mark that reorders text is on the page")
    check_sound(browser, "hostile", url)


def check_silence(vramtrace, trace, page, report):
    """Where nothing happens for long, the page shows what was true then, not the greatest moment before."""
    events = [json.loads(line) for line in run(vramtrace, "export", "--format", "json", "--kind", "tensor", trace).decode().splitlines()]
    device = page["devices"][0]
    ats, allocated = add_up(device["ats"]), add_up(device["allocateds"])
    times = [e["time_ns"] - report["origin_ns"] for e in events]
    silences = 0
    for event, time, following in zip(events, times, times[1:]):
        if following - time < (times[-1] - times[0]) / 500:
            continue
        silences += 1
        bin = max(i for i, at in enumerate(ats) if at < following)
        expect(allocated[bin] == event["allocated_bytes"], f"from {time} to {following} the page shows {allocated[bin]}, "
               f"not {event['allocated_bytes']}")
    expect(silences > 3, f"{trace}: {silences} silences")


def check_limits(vramtrace, make, trace, work):
    """--max-size holds; one that cannot be held is said to be so; other errors."""
    path = os.path.join(work, "small.html")
    run(vramtrace, "html", "--quiet", "--max-size", "250K", "-o", path, trace)
    expect(os.path.getsize(path) <= 250 << 10, f"--max-size 250K: {os.path.getsize(path)} bytes")
    page, report, *_ = unpack(path)
    expect(page["events_per_bin"] > 1, "--max-size 250K: nothing was left out")
    expect(max(add_up(page["devices"][0]["allocateds"])) == report["devices"][0]["peak_allocated_bytes"], "small: the peak is gone")
    check_silence(vramtrace, trace, page, report)
    run(vramtrace, "html", "--quiet", "--max-size", "10K", "-o", path, trace, status=2)
    run(vramtrace, "html", "--quiet", "-o", "/dev/full", trace, status=4)
    other = os.path.join(work, "other.vramtrace")
    open(other, "w").write("no trace")
    run(vramtrace, "html", "-o", path, other, status=3)
    made = os.path.join(work, "named.vramtrace")
    run(make, made)
    run(vramtrace, "html", "--quiet", made)
    expect(os.path.exists(os.path.join(work, "named.html")), "named.vramtrace does not become named.html")


def main():
    vramtrace, make, make_hostile, traces = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    browser = start_browser()
    with tempfile.TemporaryDirectory() as work, browser or contextlib.nullcontext():
        made = os.path.join(work, "made.vramtrace")
        run(make, made)
        for trace in [made, *traces]:
            check_page(browser, vramtrace, os.path.abspath(trace), work)
        check_hostile(browser, vramtrace, make_hostile, work)
        check_limits(vramtrace, make, traces[0], work)
    sys.exit(failures > 0)


main()
