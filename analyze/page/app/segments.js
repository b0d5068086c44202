/* segments.js - the segments of the allocator at a moment, end to end over some rows: what is used, what is free. */

class Segments {
	/* on: {story(block)} */
	constructor(element, on) {
		this.on = on;
		this.text = h("p", {});
		this.canvas = h("canvas", { role: "img", "aria-label": "segments and what is used in them" });
		this.under = h("p", { class: "dim", "aria-live": "polite" });
		element.append(this.text, this.canvas, this.under);
		this.canvas.addEventListener("mousemove", (event) => this.hover(event));
		this.canvas.addEventListener("click", (event) => {
			const hit = this.find(event);

			if (hit && hit.block)
				on.story(hit.block);
		});
		new ResizeObserver(() => this.draw()).observe(element);
	}

	show(device, time) {
		const moment = device.momentBefore(time);

		if (moment === this.moment && device === this.device)
			return;
		this.device = device;
		this.moment = moment;
		this.layOut();
		this.draw();
		this.under.textContent = "";
	}

	/* Segments side by side by address; a block of the page may be known in a piece. */
	layOut() {
		this.total = 0;
		this.segments = [];
		if (!this.moment)
			return;
		for (const [address, bytes, small, pieces] of this.moment.segments) {
			const segment = { address: BigInt(address), bytes, small, at: this.total, pieces: [], used: 0, largest: 0, ranges: 0 };
			let offset = 0;

			for (let i = 0; i < pieces.length; i += 2) {
				if (pieces[i]) {
					segment.largest = Math.max(segment.largest, pieces[i]);
					segment.ranges++;
				}
				offset += pieces[i];
				segment.pieces.push({ offset, bytes: pieces[i + 1] });
				segment.used += pieces[i + 1];
				offset += pieces[i + 1];
			}
			if (offset < bytes) {
				segment.largest = Math.max(segment.largest, bytes - offset);
				segment.ranges++;
			}
			this.segments.push(segment);
			this.total += bytes;
		}
		this.placeBlocks();
	}

	placeBlocks() {
		for (const block of this.device.liveBlocks(this.moment.time_ns)) {
			const address = BigInt(block.address);
			const segment = this.segments.find((s) => address >= s.address && address < s.address + BigInt(s.bytes));

			if (segment)
				(segment.blocks = segment.blocks || []).push({ offset: Number(address - segment.address), block });
		}
	}

	describe() {
		const sum = (key) => this.segments.reduce((value, segment) => value + segment[key], 0);
		const free = this.total - sum("used"), largest = this.segments.reduce((value, s) => Math.max(value, s.largest), 0);

		this.text.replaceChildren(h("strong", {}, `At ${formatTime(this.moment.time_ns)}`),
			this.moment.oom ? " (out of memory)" : "",
			`: ${formatCount(this.segments.length)} segments of ${formatBytes(this.total)}; ${formatBytes(free)} free in ` +
			`${formatCount(sum("ranges"))} ranges, the largest ${formatBytes(largest)}` +
			(free ? ` (${share(free - largest, free)} of what is free lies elsewhere)` : "") +
			(this.moment.outside_bytes ? `; ${formatBytes(this.moment.outside_bytes)} of blocks lie in no segment seen` : "") + ".");
	}

	draw() {
		const width = this.canvas.parentElement.clientWidth;

		if (!this.device || !width)
			return;
		if (!this.moment || !this.total) {
			this.text.textContent = "Segments are not captured: no driver call made them.";
			this.canvas.style.display = "none";
			return;
		}
		this.canvas.style.display = "";
		this.describe();
		this.rows = Math.max(1, Math.min(16, this.segments.length));
		this.rowHeight = Math.max(12, Math.min(26, 240 / this.rows));
		this.scale = width * this.rows / this.total;
		this.width = width;
		const context = fitCanvas(this.canvas, width, this.rows * this.rowHeight);

		context.fillStyle = styleOf("--free");
		context.fillRect(0, 0, width, this.rows * this.rowHeight);
		for (const segment of this.segments) {
			for (const piece of segment.pieces)
				this.bar(context, segment.at + piece.offset, piece.bytes, styleOf("--usedpart"));
			for (const { offset, block } of segment.blocks || [])
				this.bar(context, segment.at + offset, block.bytes, categoryColors[block.category]);
		}
		context.fillStyle = styleOf("--edge");
		for (const segment of this.segments)
			this.bar(context, segment.at, 0, styleOf("--edge"), 1);
	}

	/* A range of the line of all segments, over as many rows as it takes. */
	bar(context, at, bytes, color, least) {
		let x = at * this.scale, left = Math.max(bytes * this.scale, least || 0.4);

		context.fillStyle = color;
		while (left > 0) {
			const line = Math.min(this.rows - 1, Math.floor(x / this.width + 1e-9)), begin = x - line * this.width;
			const part = Math.min(left, Math.max(this.width - begin, 0.01));

			context.fillRect(begin, line * this.rowHeight + 1, part, this.rowHeight - 2);
			x += part;
			left -= part;
			if (line === this.rows - 1 && begin + part >= this.width)
				break;
		}
	}

	find(event) {
		if (!this.moment || !this.total)
			return null;
		const line = Math.floor(event.offsetY / this.rowHeight);
		const at = (line * this.width + event.offsetX) / this.scale;
		const segment = this.segments[lastAtMost(this.segments.map((s) => s.at), at)];

		if (!segment)
			return null;
		const offset = at - segment.at;
		const known = (segment.blocks || []).find((b) => offset >= b.offset && offset < b.offset + b.block.bytes);

		return { segment, block: known && known.block };
	}

	hover(event) {
		const hit = this.find(event);

		if (!hit)
			return;
		this.canvas.style.cursor = hit.block ? "pointer" : "default";
		this.under.textContent = `Segment 0x${hit.segment.address.toString(16)}, ${formatBytes(hit.segment.bytes)}` +
			`${hit.segment.small ? " (small requests)" : ""}: ${share(hit.segment.used, hit.segment.bytes)} used, largest free range ` +
			`${formatBytes(hit.segment.largest)}` + (hit.block ? `. Here: ${formatBytes(hit.block.bytes)}, ${clip(hit.block.place, 100)}` : "");
	}
}
