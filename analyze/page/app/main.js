/* main.js - puts the page together. */

const keys = [
	["← →", "pan; with Shift by the whole width"], ["+ −", "zoom"], ["0", "everything"], ["[ ]", "the step before, after"],
	["p", "the peak"], ["o", "the next out-of-memory error"], ["1 2 3 4", "by category, op, module, line"], ["d", "the next device"],
	["b", "larger letters, for a projector"], ["t", "dark or light"], ["Esc", "let go of the moment"], ["?", "this list"],
];

function start(data) {
	const { page, report, oom, fragmentation } = data;
	const kinds = ["category", "op", "module", "line"];
	const state = { device: page.devices[0], bin: -1, pinned: false, wanted: -1 };
	const part = (title, className, ...content) => h("section", { class: className || "" }, h("h2", {}, title), ...content);
	const devices = h("select", { "aria-label": "device", onchange: () => showDevice(page.devices[devices.value]) },
		...page.devices.map((device, i) => h("option", { value: i },
			`${device.label}${device.raw.name ? `  ${device.raw.name}` : ""}${report.processes.length > 1 ? `, process ${device.raw.process}` : ""}`)));
	const buttons = kinds.map((by, i) => h("button", { "aria-pressed": String(i === 0), onclick: () => showBy(by) }, `by ${by}`));
	const chartBox = h("div", { class: "chart", tabindex: "0", "aria-label": "memory over time" });
	const scale = h("p", { class: "dim scale" }), legend = h("p", { class: "legend" }), moment = h("h3", {}), levels = h("div"), holders = h("div"), blocks = h("div");
	const story = h("div", {}, h("p", { class: "dim" }, "Choose a block in the list, or in the segments."));
	const segmentBox = h("div"), flameBox = h("div"), steps = h("div"), dialog = h("dialog", { class: "keys" });
	const process = report.processes[0];

	document.title = `${baseName(report.file)} - vramtrace`;
	document.body.append(
		h("header", {}, h("h1", {}, h("bdi", {}, baseName(report.file))),
			h("p", { class: "dim" }, h("bdi", {}, process ? clip(process.command, 300) : "")), h("div", { class: "controls" }, devices, ...buttons,
				h("button", { onclick: () => chart.reset() }, "everything"), h("button", { onclick: showKeys }, "keys (?)"))),
		part("Findings", "", findingsList(data, goTo)),
		part("Memory over time", "", chartBox, legend, scale),
		h("div", { class: "columns" },
			part("At the cursor", "", moment, levels, h("h3", {}, "who holds it"), holders),
			part("Largest blocks then", "", blocks), part("Story of a block", "story", story)),
		part("Segments", "", segmentBox),
		...(fragmentation.moments.some((moment) => moment.segments_captured) ? [part("Fragmentation", "",
			...fragmentation.moments.filter((moment) => moment.segments_captured).map((moment) => fragmentationCard(moment, goTo)))] : []),
		part("Call stacks", "", flameBox),
		...(oom.ooms.length ? [part("Out of memory", "", ...oom.ooms.map((error) => oomCard(error, goTo)))] : []),
		h("div", { class: "columns" }, part("Steps", "wide", steps),
			part(`Levels ${report.moment}`, "", ...report.devices.map((device) => h("div", {}, h("h3", {}, `${device.device_type}:${device.device}`), levelsTable(device.levels))))),
		h("footer", {}, `vramtrace ${page.version}. Categories are estimates by scope and lifetime; sizes are the allocator's own. Chart: uPlot 1.6.32 (MIT).`),
		dialog);

	const chart = new Chart(chartBox, legend, {
		move: (bin) => { if (!state.pinned) later(bin); },
		pick: (bin) => { state.pinned = true; chart.pick(bin); showBin(bin); },
		view: (from, to) => { scale.textContent = `${formatTime(Math.round(from))} to ${formatTime(Math.round(to))} (${formatTime(Math.round(to - from))})` +
			(page.events_per_bin * chart.shownView.binsEach > 1 ? `; each point is the greatest moment of up to ${formatCount(page.events_per_bin * chart.shownView.binsEach)} events` : "; each event is drawn"); },
	});
	const segments = new Segments(segmentBox, { story: showStory });

	new Flame(flameBox, page.flame);
	dialog.append(h("h2", {}, "Keys"), h("table", { class: "facts" }, ...keys.map(([key, text]) => h("tr", {}, h("th", {}, h("kbd", {}, key)), h("td", {}, text)))),
		h("p", {}, "Drag over the chart to zoom, turn the wheel to zoom, double-click for everything, click to hold a moment."),
		h("form", { method: "dialog" }, h("button", {}, "close")));

	/* Once a frame, whatever the mouse does. */
	function later(bin) {
		if (state.wanted < 0)
			requestAnimationFrame(() => { showBin(state.wanted); state.wanted = -1; });
		state.wanted = bin;
	}

	function showBin(bin) {
		if (bin < 0)
			return;
		const device = state.device, time = device.at[bin], step = device.stepAt(time);

		state.bin = bin;
		moment.replaceChildren(formatTime(time), h("span", { class: "dim" },
			`${step && step.step ? `  step ${step.step}` : ""}${bin === device.peak ? "  the peak" : ""}${state.pinned ? "  held (Esc)" : ""}`));
		levels.replaceChildren(levelsAt(device, bin));
		holders.replaceChildren(holdersAt(chart, bin, (label) => { chart.isolate(label); showBin(state.bin); }));
		blocks.replaceChildren(blocksAt(device, time, showStory));
		segments.show(device, time);
	}

	function showStory(block) {
		story.replaceChildren(storyOf(block, (time) => goTo(time)));
	}

	function showDevice(device) {
		state.device = device;
		devices.value = page.devices.indexOf(device);
		state.pinned = false;
		chart.picked = -1;
		chart.show(device, chart.by);
		chart.setMarks(marksOf(device));
		chart.redraw();
		steps.replaceChildren(stepTable(device, (step) => {
			const margin = (step.last_ns - step.first_ns) * 0.05;

			chart.zoomTo(step.first_ns - margin, step.last_ns + margin);
			hold(step.peak_time_ns);
		}));
		showBin(device.peak);
	}

	function marksOf(device) {
		return oom.ooms.filter((error) => error.device === device.raw.device && error.process === device.raw.process)
			.map((error) => ({ time: error.time_ns, color: styleOf("--bad"), label: "out of memory" }));
	}

	function showBy(by) {
		buttons.forEach((button, i) => button.setAttribute("aria-pressed", kinds[i] === by));
		chart.by = by;
		chart.only = null;
		chart.build();
		showBin(state.bin);
	}

	/* Holds the moment of a time. */
	function hold(time) {
		state.pinned = true;
		chart.pick(Math.max(0, lastAtMost(state.device.at, time)));
		showBin(chart.picked);
	}

	function goTo(time, of) {
		const device = of && page.devices.find((d) => d.raw.device === of.device && d.raw.process === of.process && d.raw.device_type === of.device_type);

		if (device && device !== state.device)
			showDevice(device);
		if (time < chart.from || time > chart.to)
			chart.zoomTo(time - (chart.to - chart.from) / 2, time + (chart.to - chart.from) / 2);
		hold(time);
		chartBox.scrollIntoView({ block: "nearest" });
	}

	function goToStep(by) {
		const list = state.device.steps, time = state.bin < 0 ? 0 : state.device.at[state.bin];
		const i = Math.max(0, Math.min(list.length - 1, lastAtMost(list.map((step) => step.first_ns), time) + by));

		if (list[i])
			goTo(list[i].peak_time_ns);
	}

	function goToError() {
		const time = state.bin < 0 ? 0 : state.device.at[state.bin];
		const next = oom.ooms.find((error) => error.time_ns > time) || oom.ooms[0];

		if (next)
			goTo(next.time_ns, next);
	}

	function showKeys() {
		dialog.showModal();
	}

	function setTheme(dark) {
		document.documentElement.dataset.theme = dark ? "dark" : "light";
		repaint();
	}

	function repaint() {
		chart.build();
		chart.setMarks(marksOf(state.device));
		segments.draw();
		window.dispatchEvent(new Event("repaint"));
	}

	const system = matchMedia("(prefers-color-scheme: dark)");

	system.addEventListener("change", repaint);
	document.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) || dialog.open)
			return;
		const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : system.matches;
		const actions = {
			ArrowLeft: () => chart.pan(event.shiftKey ? -1 : -0.2), ArrowRight: () => chart.pan(event.shiftKey ? 1 : 0.2),
			"+": () => zoomKey(0.5), "=": () => zoomKey(0.5), "-": () => zoomKey(2), 0: () => chart.reset(), Home: () => chart.reset(),
			"[": () => goToStep(-1), "]": () => goToStep(1), p: () => goTo(state.device.at[state.device.peak]), o: goToError,
			d: () => showDevice(page.devices[(page.devices.indexOf(state.device) + 1) % page.devices.length]),
			b: () => { document.documentElement.classList.toggle("big"); repaint(); }, t: () => setTheme(!dark),
			Escape: () => { state.pinned = false; chart.pick(-1); showBin(state.bin); }, "?": showKeys,
			1: () => showBy(kinds[0]), 2: () => showBy(kinds[1]), 3: () => showBy(kinds[2]), 4: () => showBy(kinds[3]),
		};

		if (Object.hasOwn(actions, event.key)) {
			event.preventDefault();
			actions[event.key]();
		}
	});

	function zoomKey(factor) {
		const held = state.bin >= 0 ? state.device.at[state.bin] : chart.from;

		chart.zoomBy(factor, held >= chart.from && held <= chart.to ? held : (chart.from + chart.to) / 2);
	}

	showDevice(state.device);
	for (const block of state.device.liveBlocks(state.device.at[state.device.peak]).slice(0, 1))
		showStory(block);
	document.documentElement.dataset.ready = "yes";
}

unpack().then((data) => {
	if (data.page.devices.length)
		start(data);
	else
		document.body.append(h("p", {}, "No allocation is in this trace."));
}).catch((error) => {
	document.body.append(h("p", { class: "bad" }, `This page cannot be shown: ${error.message}. It needs a browser of 2023 or later.`));
	throw error;
});
