"use strict";
/* base.js - small things that all parts of the page use. Texts of a trace become text nodes, never markup. */

/* h("td", {class: "n"}, "text", node): an element. Properties that begin with "on" are handlers. */
function h(tag, properties, ...children) {
	const element = document.createElement(tag);

	for (const [key, value] of Object.entries(properties || {})) {
		if (key.startsWith("on"))
			element.addEventListener(key.slice(2), value);
		else if (value !== false && value !== undefined && value !== null)
			element.setAttribute(key, value === true ? "" : value);
	}
	element.append(...children.filter((child) => child !== null && child !== undefined));
	return element;
}

/* PyTorch's words and rounding, as in the terminal. */
function formatBytes(bytes) {
	const units = ["KiB", "MiB", "GiB", "TiB"];
	let value = Math.abs(bytes), unit = -1;

	while (value >= 1024 && unit + 1 < units.length) {
		value /= 1024;
		unit++;
	}
	return (bytes < 0 ? "-" : "") + (unit < 0 ? `${value} B` : `${value.toFixed(2)} ${units[unit]}`);
}

/* Ticks of an axis: without digits that say nothing. */
function formatTick(bytes) {
	return formatBytes(bytes).replace(/\.00 /, " ").replace(/(\.\d)0 /, "$1 ");
}

function formatTime(ns) {
	const absolute = Math.abs(ns);

	if (absolute < 1e3)
		return `${ns} ns`;
	if (absolute < 1e6)
		return `${(ns / 1e3).toFixed(1)} µs`;
	if (absolute < 1e9)
		return `${(ns / 1e6).toFixed(2)} ms`;
	if (absolute < 60e9)
		return `${(ns / 1e9).toFixed(3)} s`;
	return `${Math.floor(ns / 60e9)} min ${((ns % 60e9) / 1e9).toFixed(1).padStart(4, "0")} s`;
}

/* The same on an axis: without zeros that say nothing. */
function formatTimeTick(ns) {
	return formatTime(ns).replace(/\.0+ /, " ").replace(/(\.\d*[1-9])0+ /, "$1 ");
}

function formatCount(count) {
	return count.toLocaleString("en-US");
}

function share(part, whole) {
	return whole > 0 ? `${(100 * part / whole).toFixed(1)}%` : "";
}

function baseName(file) {
	return file.slice(file.lastIndexOf("/") + 1) || file;
}

function clip(text, length) {
	return text.length > length ? text.slice(0, length - 1) + "…" : text;
}

/* The last index whose value is at most `value`; -1: none. list rises. */
function lastAtMost(list, value) {
	let low = 0, high = list.length;

	while (low < high) {
		const mid = (low + high) >> 1;

		if (list[mid] <= value)
			low = mid + 1;
		else
			high = mid;
	}
	return low - 1;
}

/* Colours that differ in hue and lightness, readable on light and dark. */
const palette = ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#9c755f", "#ff9da7", "#86bcb6",
	"#d37295", "#a0cbe8", "#8cd17d", "#b6992d", "#499894", "#fabfd2", "#79706e", "#d7b5a6", "#f1ce63", "#bab0ac", "#d4a6c8",
	"#1f77b4", "#2ca02c", "#ff7f0e"];
const categoryColors = {
	parameter: "#4e79a7", buffer: "#a0cbe8", gradient: "#e15759", optimizer_state: "#b07aa1", activation: "#59a14f",
	recomputed_activation: "#8cd17d", temporary: "#f28e2b", workspace: "#9c755f", communication: "#edc948", input: "#76b7b2",
	kv_cache: "#ff9da7", unknown: "#79706e",
};

function styleOf(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* A canvas as large as its element, sharp on any screen. */
function fitCanvas(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	const context = canvas.getContext("2d");

	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round(height * ratio);
	canvas.style.height = `${height}px`;
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	return context;
}
