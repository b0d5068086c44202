/* chart.js - memory over time: a stacked chart on uPlot. The view holds about as many bins as the chart has pixels. */

class Chart {
	/* on: {move(bin), pick(bin), view(from, to)} */
	constructor(element, legend, on) {
		this.element = element;
		this.legend = legend;
		this.on = on;
		this.by = "category";
		this.only = null;
		this.plot = null;
		this.picked = -1;
		new ResizeObserver(() => this.plot && this.resize()).observe(element);
	}

	show(device, by) {
		if (device !== this.device) {
			this.from = device.start;
			this.to = device.end;
			this.device = device;
			this.hideTall();
		}
		this.by = by;
		this.only = null;
		this.build();
	}

	isolate(label) {
		this.only = this.only === label ? null : label;
		this.build();
	}

	shown() {
		const all = this.device.series(this.by);

		return this.only === null ? all : all.filter((series) => series.label === this.only);
	}

	/* All lines there are; those not shown are left out of the chart and of its scale. */
	allLines() {
		const device = this.device;

		return [
			{ key: "used", label: "used on the device, all processes", values: device.used, dash: [2, 4] },
			{ key: "driver", label: "allocated by driver calls", values: device.driver, dash: [6, 3] },
			{ key: "reserved", label: "reserved by PyTorch", values: device.reserved, dash: [] },
		].filter((line) => line.values.some((value) => value > 0)).map((line) => ({ ...line, color: styleOf(`--${line.key}`) }));
	}

	lines() {
		return this.allLines().filter((line) => !this.hidden.has(line.key));
	}

	/* What would press all else against the ground is not shown at first. */
	hideTall() {
		const most = (values) => values.reduce((value, next) => Math.max(value, next), 0);
		const own = Math.max(most(this.device.allocated), most(this.device.reserved));

		this.hidden = new Set(this.allLines().filter((line) => own && most(line.values) > 2 * own).map((line) => line.key));
	}

	showLegend() {
		this.legend.replaceChildren("Areas: blocks of PyTorch, one upon the other. Lines:", ...this.allLines().map(({ key, label, color, dash }) =>
			h("button", { class: "link line", "aria-pressed": String(!this.hidden.has(key)), title: "show or hide", onclick: () => {
				if (!this.hidden.delete(key))
					this.hidden.add(key);
				this.build();
			} }, h("span", { class: "stroke", style: `border-top: 2px ${dash.length ? dash[0] > 3 ? "dashed" : "dotted" : "solid"} ${color}` }), label)));
	}

	data() {
		const view = this.device.view(this.from, this.to, Math.max(200, 2 * this.element.clientWidth));
		const stacked = [], sum = new Float64Array(view.bins.length);

		this.shownView = view;
		for (const series of this.shown()) {
			view.bins.forEach((bin, i) => sum[i] += series.values[bin]);
			stacked.unshift(Array.from(sum));
		}
		return [view.times.map((ns) => ns / 1e9), ...stacked,
			...this.lines().map((line) => view.bins.map((bin) => line.values[bin]))];
	}

	build() {
		const stepped = uPlot.paths.stepped({ align: 1 });
		const text = styleOf("--text"), grid = styleOf("--grid");
		const font = `${getComputedStyle(document.documentElement).fontSize} system-ui, sans-serif`;
		const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid }, font };
		const series = [{}];

		for (const { label, color } of [...this.shown()].reverse())
			series.push({ label, fill: color, stroke: color, width: 0, paths: stepped, points: { show: false } });
		for (const { label, color, dash } of this.lines())
			series.push({ label, stroke: color, dash, width: 1.5, paths: stepped, points: { show: false } });
		this.showLegend();
		if (this.plot)
			this.plot.destroy();
		this.plot = new uPlot({
			width: this.element.clientWidth, height: this.heightNow(), series,
			legend: { show: false },
			cursor: { drag: { x: true, y: false, setScale: false }, points: { show: false }, y: false },
			scales: { x: { time: false, range: () => [this.from / 1e9, this.to / 1e9] },
				y: { range: (u, min, max) => [0, (max || 1) * 1.05] } },
			axes: [{ ...axis, values: (u, ticks) => ticks.map((s) => formatTimeTick(Math.round(s * 1e9))), space: 90 },
				{ ...axis, values: (u, ticks) => ticks.map(formatTick), size: 5.5 * parseFloat(font),
					incrs: binaryIncrements() }],
			hooks: {
				setSelect: [(u) => this.select(u)],
				setCursor: [(u) => this.move(u)],
				draw: [(u) => this.drawMarks(u)],
				ready: [(u) => this.listen(u)],
			},
		}, this.data(), this.element);
	}

	heightNow() {
		return Math.max(220, Math.min(460, Math.round(window.innerHeight * 0.42)));
	}

	resize() {
		this.plot.setSize({ width: this.element.clientWidth, height: this.heightNow() });
		this.redraw();
	}

	redraw() {
		this.plot.setData(this.data(), false);
		this.plot.setScale("x", { min: this.from / 1e9, max: this.to / 1e9 });
		this.on.view(this.from, this.to);
	}

	zoomTo(from, to) {
		const least = 100, span = Math.max(least, to - from);

		from = Math.max(this.device.start, Math.min(from, this.device.end - least));
		this.from = from;
		this.to = Math.min(this.device.end, from + span);
		this.redraw();
	}

	/* Keeps the time at `center` where it is. */
	zoomBy(factor, center) {
		this.zoomTo(center - (center - this.from) * factor, center + (this.to - center) * factor);
	}

	pan(part) {
		const span = this.to - this.from;
		const from = Math.max(this.device.start, Math.min(this.from + part * span, this.device.end - span));

		this.zoomTo(from, from + span);
	}

	reset() {
		this.zoomTo(this.device.start, this.device.end);
	}

	select(u) {
		const { left, width } = u.select;

		if (width > 3)
			this.zoomTo(u.posToVal(left, "x") * 1e9, u.posToVal(left + width, "x") * 1e9);
		u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
	}

	/* The bin that is drawn at a place on the chart. */
	binAt(left) {
		const time = this.plot.posToVal(left, "x") * 1e9;
		const i = lastAtMost(this.shownView.times, time);

		return i < 0 ? -1 : this.shownView.bins[i];
	}

	move(u) {
		if (u.cursor.left >= 0)
			this.on.move(this.binAt(u.cursor.left));
	}

	listen(u) {
		let down = 0;

		u.over.addEventListener("mousedown", (event) => down = event.clientX);
		u.over.addEventListener("click", (event) => {
			if (Math.abs(event.clientX - down) < 4)
				this.on.pick(this.binAt(event.clientX - u.over.getBoundingClientRect().left));
		});
		u.over.addEventListener("dblclick", () => this.reset());
		u.over.addEventListener("wheel", (event) => {
			event.preventDefault();
			if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
				this.pan((event.deltaX || event.deltaY) / 1000);
			else
				this.zoomBy(event.deltaY > 0 ? 1.25 : 0.8, u.posToVal(event.offsetX, "x") * 1e9);
		}, { passive: false });
	}

	pick(bin) {
		this.picked = bin;
		this.plot.redraw(false, false);
	}

	/* marks: [{time, color, label}] */
	setMarks(marks) {
		this.marks = marks;
		if (this.plot)
			this.plot.redraw(false, false);
	}

	drawMarks(u) {
		const context = u.ctx, ratio = window.devicePixelRatio || 1;
		const all = [...(this.marks || [])];

		if (this.picked >= 0)
			all.push({ time: this.device.at[this.picked], color: styleOf("--accent"), label: "" });
		context.save();
		context.font = `${12 * ratio}px system-ui, sans-serif`;
		for (const { time, color, label } of all) {
			const x = Math.round(u.valToPos(time / 1e9, "x", true));

			if (x < u.bbox.left || x > u.bbox.left + u.bbox.width)
				continue;
			context.strokeStyle = context.fillStyle = color;
			context.lineWidth = 1.5 * ratio;
			context.beginPath();
			context.moveTo(x, u.bbox.top);
			context.lineTo(x, u.bbox.top + u.bbox.height);
			context.stroke();
			if (label) {
				const right = x > u.bbox.left + u.bbox.width * 0.9;

				context.textAlign = right ? "right" : "left";
				context.fillText(label, x + (right ? -4 : 4) * ratio, u.bbox.top + 12 * ratio);
			}
		}
		context.restore();
	}
}

/* Steps of the axis in powers of two: its ticks read as whole MiB and GiB. */
function binaryIncrements() {
	const list = [];

	for (let power = 0; power < 52; power++)
		list.push(2 ** power);
	return list;
}
