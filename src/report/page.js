"use strict";
// Links to the sections, and values under the pointer. A report reads without either.
for (const h of document.querySelectorAll("h2[id]")) {
	const a = document.createElement("a");
	a.href = "#" + h.id;
	a.textContent = h.textContent;
	document.getElementById("contents").append(a);
}
const tip = document.getElementById("tip");
// "min max is_log scale unit": from a share of the axis to a text
function valueAt(spec, share) {
	const [min, max, log, scale, unit] = spec.split(" ");
	const v = +log ? min * Math.pow(max / min, share) : +min + share * (max - min);
	if (unit === "B" && +scale === 1) {
		const power = Math.max(0, Math.min(3, Math.floor(Math.log2(v) / 10)));
		return +(v / Math.pow(1024, power)).toPrecision(3) + " " + ["B", "KiB", "MiB", "GiB"][power];
	}
	return (v * scale).toPrecision(4).replace(/\.?0+$/, "").replace(/\.?0+e/, "e") + (unit ? " " + unit : "");
}
function pointsOf(line) {
	return line.getAttribute("points").trim().split(" ").map((p) => p.split(",").map(Number));
}
// the line's height at x: the last point at or before it
function heightAt(points, x) {
	let y = null;
	for (const p of points) {
		if (p[0] > x + 0.5) break;
		y = p[1];
	}
	return y;
}
for (const plot of document.querySelectorAll("g.plot")) {
	const svg = plot.ownerSVGElement, area = plot.querySelector(".area").getBBox();
	const lines = [...plot.querySelectorAll("polyline")].map((l) => ({ name: l.dataset.name, points: pointsOf(l) }));
	svg.addEventListener("pointermove", (e) => {
		const at = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
		if (at.x < area.x || at.x > area.x + area.width || at.y < area.y || at.y > area.y + area.height) {
			tip.hidden = true;
			return;
		}
		const rows = [valueAt(plot.dataset.x, (at.x - area.x) / area.width)];
		for (const l of lines) {
			const y = heightAt(l.points, at.x);
			if (y !== null) rows.push(l.name + ": " + valueAt(plot.dataset.y, 1 - (y - area.y) / area.height));
		}
		tip.textContent = rows.join("\n");
		tip.hidden = false;
		tip.style.left = Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
		tip.style.top = Math.min(e.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
	});
	svg.addEventListener("pointerleave", () => { tip.hidden = true; });
}
