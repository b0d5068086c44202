/* panels.js - what is said of the moment at the cursor, and the story of a block. */

function row(name, value, extra) {
	return h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "n" }, value), h("td", { class: "n dim" }, extra || ""));
}

/* The figures of one bin. known 0 is "not captured" for what the driver says. */
function levelsAt(device, bin) {
	const allocated = device.allocated[bin], reserved = device.reserved[bin], driver = device.driver[bin], used = device.used[bin];

	return h("table", { class: "facts" },
		row("allocated", formatBytes(allocated), reserved ? share(allocated, reserved) + " of reserved" : ""),
		reserved ? row("reserved by PyTorch", formatBytes(reserved)) : null,
		reserved ? row("reserved but unallocated", formatBytes(reserved - allocated), share(reserved - allocated, reserved)) : null,
		row("driver calls", driver ? formatBytes(driver) : "not captured"),
		row("device, all processes", used ? formatBytes(used) : "not captured"));
}

function holdersAt(chart, bin, onIsolate) {
	const device = chart.device, whole = device.allocated[bin];
	const rows = device.series(chart.by).map((series) => ({ series, bytes: series.values[bin] }))
		.sort((x, y) => y.bytes - x.bytes || 0);

	return h("table", { class: "list" }, h("tbody", {}, ...rows.map(({ series, bytes }) =>
		h("tr", { class: (bytes > 0 ? "" : "none ") + (chart.only === series.label ? "only" : "") },
			h("td", {}, h("button", { class: "link", title: "show this one alone", onclick: () => onIsolate(series.label) },
				h("span", { class: "swatch", style: `background:${series.color}` }), h("bdi", {}, clip(series.label, 120)))),
			h("td", { class: "n" }, formatBytes(bytes)), h("td", { class: "n dim" }, share(bytes, whole))))));
}

const blocksShown = 14;

function blocksAt(device, time, onStory) {
	const live = device.liveBlocks(time), list = live.slice(0, blocksShown);
	const kept = live.reduce((sum, block) => sum + block.bytes, 0);
	const { blocks_kept: count, blocks_seen: all } = device.page;

	return h("div", {},
		h("table", { class: "list" }, h("tbody", {}, ...list.map((block) => h("tr", {},
			h("td", {}, h("button", { class: "link", title: "its story", onclick: () => onStory(block) },
				h("span", { class: "swatch", style: `background:${categoryColors[block.category]}` }),
				h("bdi", {}, clip(block.place, 110)))),
			h("td", { class: "n" }, formatBytes(block.bytes)),
			h("td", { class: "n dim" }, formatTime(time - block.alloc)))))),
		h("p", { class: "dim" }, list.length ? `${formatCount(live.length)} blocks of ${formatBytes(kept)}` +
			(live.length > list.length ? `, the largest ${list.length} shown` : "") + "; at the right: their age. " : "No block. ",
			count < all ? `Of ${formatCount(all)} blocks of the trace the page tells the ${formatCount(count)} that held most.` : ""));
}

function frameLine([name, file, line]) {
	return h("li", { class: libraries.test(file) ? "dim" : "" }, h("bdi", {}, name || "?"), " ",
		h("span", { class: "file", title: file }, h("bdi", {}, `${clip(baseName(file), 80)}:${line}`)));
}

function stackList(frames) {
	return frames.length ? h("ol", { class: "stack" }, ...frames.map(frameLine)) : h("p", { class: "dim" }, "no Python line");
}

function kernelsOf(block) {
	if (!block.page.touches_captured)
		return "not captured (record --kernels on)";
	if (!block.touches)
		return "no launch of the trace names an address in it";
	const names = [];

	for (let i = 0; i < block.kernels.length; i += 2)
		names.push(`${block.page.kernels[block.kernels[i]] || "?"} × ${formatCount(block.kernels[i + 1])}`);
	return `named by ${formatCount(block.touches)} launches, from ${formatTime(block.firstTouch)} to ` +
		`${formatTime(block.lastTouch)}` + (names.length ? `: ${names.join(", ")}` : "");
}

function storyOf(block, onTime) {
	const ended = block.free < 0 ? "live at the end of the trace" : `freed at ${formatTime(block.free)}`;
	const go = (text, time) => h("button", { class: "link", onclick: () => onTime(time) }, text);
	const facts = [
		["who", block.ops.length ? block.ops.join(" < ") : "no op"],
		["for", `${block.category.replace(/_/g, " ")} (estimated, ${block.confidence} confidence)`],
		["when", `${block.phase}${block.step >= 0 ? `, step ${block.step}` : ""}, thread ${block.thread}`],
		["kernels", kernelsOf(block)],
		["address", `${block.address}, ${formatCount(block.bytes)} bytes`],
	];

	return h("div", {},
		h("p", {}, h("strong", {}, formatBytes(block.bytes)), " ",
			go(`allocated at ${formatTime(block.alloc)}`, block.alloc), ", ",
			block.free < 0 ? ended : go(ended, block.free),
			block.free < 0 ? "" : `, lived ${formatTime(block.free - block.alloc)}`),
		h("table", { class: "facts" }, ...facts.map(([name, text]) =>
			h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, h("bdi", {}, text))))),
		block.forwardStack >= 0 ? h("h4", {}, "the forward line it belongs to") : null,
		block.forwardStack >= 0 ? stackList(block.forwardFrames) : null,
		h("h4", {}, "the stack that allocated it"), stackList(block.frames));
}
