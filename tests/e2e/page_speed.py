#!/usr/bin/env python3
"""page_speed.py PAGE.html: how fast a page is in headless Chromium: opening, zooming in, panning, pointing. Milliseconds of the
page's own work for each, median and most; for bench_page."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser  # noqa: E402

MEASURE = """(async () => {
	const over = document.querySelector('.u-over'), box = over.getBoundingClientRect(), out = {};
	const frame = () => new Promise((done) => requestAnimationFrame(done));
	const measure = async (name, count, action) => {
		const times = [];
		for (let i = 0; i < count; i++) {
			const start = performance.now();
			action(i);
			await frame();
			await frame();
			times.push(performance.now() - start);
		}
		times.sort((x, y) => x - y);
		out[name] = [times[times.length >> 1], times[times.length - 1]];
	};
	const key = (name) => document.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true }));
	const at = (part) => ({ clientX: box.x + box.width * part, clientY: box.y + 50, bubbles: true });
	const wheel = (part, by) => over.dispatchEvent(new WheelEvent('wheel', { ...at(part), deltaY: by, cancelable: true }));
	await measure('zoom in', 40, () => wheel(0.7, -100));
	await measure('pan', 20, () => key('ArrowRight'));
	await measure('zoom out', 40, () => wheel(0.7, 100));
	await measure('point', 40, (i) => over.dispatchEvent(new MouseEvent('mousemove', at(0.1 + i / 50))));
	await measure('by', 8, (i) => key(String(1 + i % 4)));
	return out;
})()"""

with Browser() as browser:
    browser.go(f"file://{os.path.abspath(sys.argv[1])}")
    browser.wait_for("document.documentElement?.dataset.ready === 'yes'", 120)
    opened = browser.evaluate("performance.now()")
    print(f"opened within {opened:.0f} ms, {browser.evaluate('performance.memory.usedJSHeapSize') / 2**20:.0f} MiB of JavaScript")
    for name, (median, most) in browser.evaluate(MEASURE).items():
        print(f"{name}: median {median:.0f} ms, most {most:.0f} ms")
    if browser.problems:
        sys.exit(f"problems: {browser.problems[:3]}")
