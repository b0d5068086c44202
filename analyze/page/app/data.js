/* data.js - the data of the page, unpacked: see page_json.c for what it is. */

async function unpack() {
	const base64 = document.getElementById("data").textContent;
	const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	const [page, report, oom, fragmentation] = (await new Response(stream).text()).split("\u001e").map((text) => JSON.parse(text));

	page.devices = page.devices.map((device) => new Device(page, device));
	return { page, report, oom, fragmentation };
}

/* Differences to values. */
function sums(differences) {
	const out = new Float64Array(differences.length);
	let value = 0;

	for (let i = 0; i < differences.length; i++)
		out[i] = value += differences[i];
	return out;
}

class Device {
	constructor(page, raw) {
		this.raw = raw;
		this.page = page;
		this.label = raw.device_type === "cpu" ? "cpu" : `${raw.device_type}:${raw.device}`;
		this.first = sums(raw.firsts);
		this.at = sums(raw.ats);
		this.allocated = sums(raw.allocateds);
		this.reserved = sums(raw.reserveds);
		this.driver = sums(raw.drivers);
		this.used = sums(raw.useds);
		this.count = this.first.length;
		this.steps = raw.steps;
		this.stepsFound = raw.steps_found;
		this.moments = raw.moments;
		this.blocks = raw.blocks.map((block, index) => new Block(page, block, index));
		this.decoded = {};
		this.levels = [{ starts: Uint32Array.from({ length: this.count }, (_, i) => i) }];
		this.levels[0].bins = this.levels[0].starts;
		this.buildLevels();
		this.peak = this.allocated.reduce((best, _, i) => this.height(i) > this.height(best) ? i : best, 0);
	}

	height(bin) {
		return this.allocated[bin] || this.driver[bin];
	}

	/*
	 * Each level stands for up to four of the one below by the greatest of them. What a silence begins with stays alone: it
	 * is what is true all through it.
	 */
	buildLevels() {
		const silence = (this.end - this.start) / 1024;
		const isQuiet = (bin) => bin + 1 === this.count || this.first[bin + 1] - this.at[bin] >= silence;

		for (let below = this.levels[0]; below.bins.length > 1;) {
			const starts = [], bins = [];

			for (let i = 0, room = 0; i < below.bins.length; i++) {
				const bin = below.bins[i], alone = isQuiet(bin);

				if (!room || alone) {
					starts.push(below.starts[i]);
					bins.push(bin);
					room = alone ? 0 : 3;
					continue;
				}
				if (this.height(bin) > this.height(bins[bins.length - 1]))
					bins[bins.length - 1] = bin;
				room--;
			}
			if (bins.length === below.bins.length)
				break;
			below = { starts: Uint32Array.from(starts), bins: Uint32Array.from(bins) };
			this.levels.push(below);
		}
	}

	get start() {
		return this.count ? this.first[0] : 0;
	}

	get end() {
		return this.count ? Math.max(this.at[this.count - 1], this.start + 1) : 1;
	}

	/* What is drawn of a span: times, and the bin that stands for each. */
	view(from, to, most) {
		const low = Math.max(0, lastAtMost(this.first, from)), high = Math.max(0, lastAtMost(this.first, to));
		let depth = 0, level, begin, end;

		for (;; depth++) {
			level = this.levels[depth];
			begin = Math.max(0, lastAtMost(level.starts, low));
			end = Math.min(lastAtMost(level.starts, high) + 1, level.starts.length - 1);
			if (end - begin < most || depth + 1 === this.levels.length)
				break;
		}
		const times = [], bins = [];

		for (let i = begin; i <= end; i++) {
			times.push(this.first[level.starts[i]]);
			bins.push(level.bins[i]);
		}
		/* The last state stands until the end. */
		if (times.length && times[times.length - 1] < this.end) {
			times.push(this.end);
			bins.push(this.count - 1);
		}
		return { times, bins, binsEach: 4 ** depth };
	}

	/* [{label, values, color, rest}], the largest over time first, what has no name last. */
	series(by) {
		if (this.decoded[by])
			return this.decoded[by];
		const list = this.raw.series[by].map(({ label, rest, changes }) => {
			const values = new Float64Array(this.count);
			let at = 0, value = 0, weight = 0, drawn = 0;

			for (let i = 0; i < changes.length; i += 2) {
				const next = at + changes[i];

				for (; drawn < next; drawn++)
					values[drawn] = value;
				at = next;
				value += changes[i + 1];
			}
			for (; drawn < this.count; drawn++)
				values[drawn] = value;
			for (let i = 0; i < this.count; i++)
				weight += values[i];
			return { label, rest, values, weight };
		}).filter((series) => series.weight > 0);
		const unnamed = new Float64Array(this.allocated);

		for (const series of list)
			for (let i = 0; i < this.count; i++)
				unnamed[i] -= series.values[i];
		for (let i = 0; i < this.count; i++)
			unnamed[i] = Math.max(0, unnamed[i]);
		list.sort((x, y) => x.rest - y.rest || y.weight - x.weight || (x.label < y.label ? -1 : 1));
		if (unnamed.some((value) => value > 0))
			list.push({ label: "not attributed: begun before the capture, or lost", rest: true, values: unnamed, weight: 1 });
		list.forEach((series, i) => {
			series.color = by === "category" && categoryColors[series.label] ||
				(series.rest ? "#8a8a8a" : palette[i % palette.length]);
		});
		return this.decoded[by] = list;
	}

	/* Kept blocks that are live at a time, the largest first. */
	liveBlocks(time) {
		return this.blocks.filter((block) => block.alloc <= time && (block.free < 0 || block.free > time))
			.sort((x, y) => y.bytes - x.bytes);
	}

	/* The moment before a time whose segments are known. */
	momentBefore(time) {
		return this.moments[Math.max(0, lastAtMost(this.moments.map((moment) => moment.time_ns), time))];
	}

	stepAt(time) {
		const i = lastAtMost(this.steps.map((step) => step.first_ns), time);

		return i < 0 ? null : this.steps[i];
	}
}

const libraries = /\/(site|dist)-packages\/|\/lib\/python\d|\/torch\/|^<frozen|^<string>/;

class Block {
	constructor(page, raw, index) {
		this.page = page;
		this.index = index;
		[this.address, this.bytes, this.alloc, this.free, this.thread, this.category, this.confidence, this.phase, this.step,
			this.op, this.stack, this.forwardOp, this.forwardStack, this.touches, this.firstTouch, this.lastTouch,
			this.kernels] = raw;
	}

	/* Innermost first. */
	chain(list, number) {
		const out = [];

		for (; number >= 0 && out.length < 1024; number = list[number][list[number].length - 1])
			out.push(list[number]);
		return out;
	}

	get ops() {
		return this.chain(this.page.ops, this.op).map(([name]) => name);
	}

	get frames() {
		return this.chain(this.page.frames, this.stack);
	}

	get forwardFrames() {
		return this.chain(this.page.frames, this.forwardStack);
	}

	/* "aten::mm at model.py:21" */
	get place() {
		const op = this.ops[0] || "no op";
		const own = this.forwardStack >= 0 ? this.forwardFrames : this.frames;
		const frame = own.find(([, file]) => !libraries.test(file)) || own[0];

		if (!frame)
			return op;
		return `${op} ${this.forwardStack >= 0 ? "in the backward of" : "at"} ${baseName(frame[1])}:${frame[2]}`;
	}
}
