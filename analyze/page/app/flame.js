/* flame.js - memory by call stack: who called whom downwards, bytes as width. */

class Flame {
	constructor(element, flame) {
		this.flame = flame;
		this.weight = 0;
		this.search = "";
		this.canvas = h("canvas", { role: "img", tabindex: "0", "aria-label": "flame graph; Escape shows all" });
		this.status = h("p", { class: "dim", "aria-live": "polite" });
		this.select = h("select", { "aria-label": "what the graph counts", onchange: () => this.choose(Number(this.select.value)) },
			...flame.weights.map((text, i) => h("option", { value: i }, text)));
		this.input = h("input", { type: "search", placeholder: "find a function", "aria-label": "find a function",
			oninput: () => { this.search = this.input.value.toLowerCase(); this.draw(); } });
		element.append(h("p", { class: "controls" }, this.select, this.input,
			h("button", { onclick: () => this.zoom(-1) }, "all")), this.canvas, this.status);
		this.canvas.addEventListener("mousemove", (event) => this.hover(event));
		this.canvas.addEventListener("click", (event) => {
			const hit = this.find(event);

			if (hit)
				this.zoom(hit.node);
		});
		this.canvas.addEventListener("keydown", (event) => event.key === "Escape" && this.zoom(-1));
		this.choose(0);
		new ResizeObserver(() => this.draw()).observe(element);
		window.addEventListener("repaint", () => this.draw());
	}

	/* Parents stand before their children. */
	choose(weight) {
		const nodes = this.flame.nodes;

		this.weight = weight;
		this.bytes = new Float64Array(nodes.length);
		this.blocks = new Float64Array(nodes.length);
		this.children = nodes.map(() => []);
		this.roots = [];
		for (let i = nodes.length - 1; i >= 0; i--) {
			this.bytes[i] += nodes[i][2 + 2 * weight];
			this.blocks[i] += nodes[i][3 + 2 * weight];
			const parent = nodes[i][0];

			if (parent < 0) {
				this.roots.unshift(i);
				continue;
			}
			this.bytes[parent] += this.bytes[i];
			this.blocks[parent] += this.blocks[i];
			this.children[parent].push(i);
		}
		for (const list of this.children)
			list.sort((x, y) => this.bytes[y] - this.bytes[x] || x - y);
		this.total = this.roots.reduce((sum, root) => sum + this.bytes[root], 0);
		this.zoom(-1);
	}

	zoom(node) {
		this.focus = node;
		this.draw();
	}

	label(node) {
		const [parent, frame] = this.flame.nodes[node];

		if (parent < 0)
			return frame;
		const [name, file, line] = this.flame.frames[frame];

		return file ? `${name}  ${baseName(file)}:${line}` : name;
	}

	/* Boxes of what is wide enough to be seen. */
	layOut(width) {
		const waiting = [], boxes = [];
		const path = [];

		for (let node = this.focus; node >= 0; node = this.flame.nodes[node][0])
			path.unshift(node);
		path.pop();
		path.forEach((node, depth) => boxes.push({ node, x: 0, width, depth, above: true }));
		if (this.focus >= 0)
			waiting.push({ node: this.focus, x: 0, width, depth: path.length });
		else
			this.spread(waiting, this.roots, 0, width, 0, this.total);
		while (waiting.length) {
			const box = waiting.pop();

			boxes.push(box);
			this.spread(waiting, this.children[box.node], box.x, box.width, box.depth + 1, this.bytes[box.node]);
		}
		return boxes;
	}

	spread(waiting, nodes, x, width, depth, whole) {
		for (const node of nodes) {
			const own = whole > 0 ? width * this.bytes[node] / whole : 0;

			if (own >= 0.7)
				waiting.push({ node, x, width: own, depth });
			x += own;
		}
	}

	draw() {
		const width = this.canvas.parentElement.clientWidth, size = parseFloat(getComputedStyle(document.documentElement).fontSize);

		if (!width)
			return;
		this.line = Math.round(size * 1.35);
		this.boxes = this.layOut(width);
		const depth = this.boxes.reduce((most, box) => Math.max(most, box.depth + 1), 1);
		const context = fitCanvas(this.canvas, width, depth * this.line);

		context.font = `${Math.round(size * 0.8)}px system-ui, sans-serif`;
		context.textBaseline = "middle";
		for (const box of this.boxes)
			this.drawBox(context, box);
		this.status.textContent = `${formatBytes(this.total)}, ${this.flame.weights[this.weight]}. ` +
			"Click a box to zoom in; sums are of blocks whose beginning was captured.";
	}

	drawBox(context, { node, x, width, depth, above }) {
		const [parent, frame] = this.flame.nodes[node], text = this.label(node);
		const isOp = parent >= 0 && !this.flame.frames[frame][1];
		const isLibrary = parent >= 0 && !isOp && libraries.test(this.flame.frames[frame][1]);
		const found = this.search && text.toLowerCase().includes(this.search);

		context.globalAlpha = above || (this.search && !found) ? 0.45 : 1;
		context.fillStyle = found ? styleOf("--found") : styleOf(parent < 0 ? "--rootbox" : isOp ? "--opbox" : isLibrary ? "--librarybox" :
			"--ownbox");
		context.fillRect(x, depth * this.line, Math.max(width - 0.5, 0.5), this.line - 1);
		context.globalAlpha = 1;
		if (width < 30)
			return;
		context.fillStyle = styleOf("--boxtext");
		context.save();
		context.beginPath();
		context.rect(x, depth * this.line, width - 4, this.line);
		context.clip();
		context.fillText(clip(text, Math.ceil(width / 4)), x + 4, depth * this.line + this.line / 2);
		context.restore();
	}

	find(event) {
		const depth = Math.floor(event.offsetY / this.line);

		return this.boxes.find((box) => box.depth === depth && event.offsetX >= box.x && event.offsetX < box.x + box.width);
	}

	hover(event) {
		const hit = this.find(event);

		this.canvas.style.cursor = hit ? "pointer" : "default";
		if (hit)
			this.status.textContent = `${clip(this.label(hit.node), 300)}: ${formatBytes(this.bytes[hit.node])} ` +
				`(${share(this.bytes[hit.node], this.total)}), ${formatCount(this.blocks[hit.node])} blocks`;
	}
}
