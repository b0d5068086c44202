/* tables.js - findings, out-of-memory errors, levels at the peak, steps. */

const stepsShown = 200;

/* A finding is a sentence, and maybe a time to go to. */
function findings({ page, report, oom, fragmentation }) {
	const list = [];

	for (const error of oom.ooms)
		list.push({ time: error.time_ns, device: error, bad: true, text: `Out of memory: ${formatBytes(error.requested_bytes)} could not be ` +
			`had with ${formatBytes(error.allocated_bytes)} allocated of ${formatBytes(error.reserved_bytes)} reserved. ` +
			(error.next_steps.length ? error.next_steps[0].text : "") });
	if (oom.growth)
		list.push({ bad: true, text: "What stays allocated at the end of each step has grown step after step: this looks like a leak." });
	for (const device of report.devices) {
		if (device.sentence)
			list.push({ time: device.peak_time_ns, device, text: device.sentence });
		if (device.unknown_frees || device.mismatches)
			list.push({ device, text: `${formatCount(device.unknown_frees)} frees are of blocks whose allocation is not in the trace; at ` +
				`${formatCount(device.mismatches)} events the allocator's total moved by another amount.` });
	}
	for (const moment of fragmentation.moments)
		if (moment.sentence && moment.reserved_bytes - moment.allocated_bytes >= moment.reserved_bytes / 10)
			list.push({ time: moment.time_ns, device: moment, text: moment.sentence });
	for (const loss of report.losses)
		list.push({ bad: true, text: `${formatCount(loss.count)} events were lost while recording (${loss.kind}).` });
	for (const gap of report.gaps)
		list.push({ time: gap.begin_ns, text: `From ${formatTime(gap.begin_ns)} ${gap.end_ns === null ? "on" : `to ${formatTime(gap.end_ns)}`} ` +
			`${gap.what === "kernels" ? "kernels were" : "nothing was"} recorded.` });
	if (page.events_per_bin > 1)
		list.push({ text: `Level of detail: ${page.events_per_bin} events are one point of the chart, shown by their greatest moment.` });
	return list;
}

function findingsList(data, onTime) {
	const list = findings(data);

	return h("ul", { class: "findings" }, ...list.map((finding) => h("li", { class: finding.bad ? "bad" : "" },
		h("bdi", {}, finding.text), " ",
		finding.time === undefined ? null :
			h("button", { class: "link", onclick: () => onTime(finding.time, finding.device) }, `go to ${formatTime(finding.time)}`))));
}

function levelsTable(levels) {
	return h("table", { class: "facts" }, ...levels.map((level) => h("tr", { class: level.kind === "between" ? "dim" : "" },
		h("th", { scope: "row" }, (level.kind === "between" ? "– " : "") + level.text),
		h("td", { class: "n" }, level.bytes === null ? "not captured" : formatBytes(level.bytes)))));
}

function holdersTable(holders) {
	return h("table", { class: "list" }, h("tbody", {}, ...holders.slice(0, 10).map((holder) => {
		const frame = holder.stack.find((f) => !libraries.test(f.file)) || holder.stack[0];

		return h("tr", {}, h("td", {}, h("bdi", {}, clip(holder.op || "no op", 80)), " ",
			h("span", { class: "file" }, h("bdi", {}, frame ? `${clip(baseName(frame.file), 60)}:${frame.line} ${clip(frame.function, 60)}` : ""))),
		h("td", { class: "n" }, formatBytes(holder.live_bytes)), h("td", { class: "n dim" }, formatCount(holder.count)));
	})));
}

function oomCard(error, onTime) {
	return h("article", { class: "oom" },
		h("h3", {}, `Out of memory at ${formatTime(error.time_ns)} on ${error.device_type}:${error.device}`),
		h("p", {}, `${formatBytes(error.requested_bytes)} asked for. ${error.sentence || ""} `,
			h("button", { class: "link", onclick: () => onTime(error.time_ns, error) }, "go there")),
		h("div", { class: "columns" }, h("div", {}, h("h4", {}, "Levels"), levelsTable(error.levels)),
			h("div", {}, h("h4", {}, "Who held it"), holdersTable(error.holders)),
			h("div", {}, h("h4", {}, "What to do next"), h("ol", {}, ...error.next_steps.map((step) => h("li", {}, h("bdi", {}, step.text)))))));
}

function pinRow(pin) {
	const block = pin.blocks[0], frame = block && (block.stack.find((f) => !libraries.test(f.file)) || block.stack[0]);
	const who = block ? `${block.op || "no op"}${frame ? ` at ${baseName(frame.file)}:${frame.line}` : ""}` : "";

	return h("tr", {}, h("td", {}, formatBytes(pin.segment_bytes)), h("td", { class: "n" }, formatBytes(pin.free_bytes)),
		h("td", { class: "n" }, formatCount(pin.live_blocks)), h("td", {}, h("bdi", {}, clip(who, 100))));
}

/* What of the reserved memory is free, at the moments of `vramtrace fragmentation`, and what keeps it from being given back. */
function fragmentationCard(moment, onTime) {
	const head = (...texts) => h("thead", {}, h("tr", {}, ...texts.map((text) => h("th", {}, text))));

	return h("article", { class: "oom" },
		h("p", {}, h("strong", {}, `${moment.at === "oom" ? "Out of memory" : moment.at === "peak" ? "Peak" : "At"} `),
			h("button", { class: "link", onclick: () => onTime(moment.time_ns, moment) }, formatTime(moment.time_ns)), ": ",
			h("bdi", {}, moment.sentence || "nothing of what is reserved is free.")),
		h("div", { class: "columns" },
			h("table", { class: "pools" }, head("pool", "segments", "free", "in ranges", "largest", "pinned", "fragmentation"),
				h("tbody", {}, ...moment.pools.map((pool) => h("tr", {}, h("td", {}, pool.pool),
					h("td", { class: "n" }, formatCount(pool.segments)), h("td", { class: "n" }, formatBytes(pool.free_bytes)),
					h("td", { class: "n" }, formatCount(pool.free_ranges)), h("td", { class: "n" }, formatBytes(pool.largest_free_bytes)),
					h("td", { class: "n" }, formatBytes(pool.pinned_bytes)),
					h("td", { class: "n" }, pool.fragmentation === null ? "" : pool.fragmentation.toFixed(2)))))),
			moment.pins.length ? h("table", { class: "pins" }, head("segment", "free in it", "live blocks", "the first of them"),
				h("tbody", {}, ...moment.pins.slice(0, 8).map(pinRow))) : null));
}

function stepTable(device, onStep, all) {
	const steps = all ? device.steps : device.steps.slice(0, stepsShown);
	const most = device.steps.reduce((value, step) => Math.max(value, step.peak_allocated_bytes), 1);

	if (!steps.length)
		return h("p", { class: "dim" }, "No steps were found in this trace.");
	const table = h("table", { class: "steps" },
		h("thead", {}, h("tr", {}, ...["step", "from", "lasted", "peak", "", "at its end", "allocations", "allocated in it"].map((text) => h("th", {}, text)))),
		h("tbody", {}, ...steps.map((step) => h("tr", {},
			h("td", {}, h("button", { class: "link", onclick: () => onStep(step) }, step.step === null ? "later" : step.step === 0 ? "before" : String(step.step))),
			h("td", { class: "n" }, formatTime(step.first_ns)), h("td", { class: "n" }, formatTime(step.last_ns - step.first_ns)),
			h("td", { class: "n" }, formatBytes(step.peak_allocated_bytes)),
			h("td", { class: "meter" }, h("div", { style: `width:${100 * step.peak_allocated_bytes / most}%` })),
			h("td", { class: "n" }, formatBytes(step.allocated_bytes)), h("td", { class: "n" }, formatCount(step.allocations)),
			h("td", { class: "n" }, formatBytes(step.allocations_bytes))))));
	const more = device.steps.length > steps.length ?
		h("button", { onclick: (event) => event.target.parentElement.replaceWith(stepTable(device, onStep, true)) },
			`all ${formatCount(device.steps.length)} steps`) : null;

	return h("div", {}, h("p", { class: "dim" }, `Found ${device.stepsFound}.`), table, more);
}
