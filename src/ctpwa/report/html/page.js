"use strict";
// Everything that moves on the page. Numbers come from the JSON block "data"; no library, no network.
// Texts may come from anyone: they become text nodes and values of attributes, never markup. Formulas are copied from templates.
const DATA = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const element = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children);
  return node;
};
const drawn = (tag, attributes = {}, text = null) => {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== null) node.textContent = text;
  return node;
};
const LABELS = document.querySelectorAll("template.label");
const labelled = (what) => element("span", {}, typeof what === "string" ? what : LABELS[what.label].content.cloneNode(true));
// A label in a drawing: a text, or parts [text, shift, size, italic] of it.
const SIZE = 12;
const plain = (label) => (typeof label === "string" ? label : label.map((part) => part[0]).join(""));
const write = (attributes, label, size = SIZE) => {
  const node = drawn("text", { "font-size": size, ...attributes });
  let at = 0;
  for (const [text, shift, scale, italic] of typeof label === "string" ? [[label, 0, 1, false]] : label) {
    const part = drawn("tspan", { dy: ((at - shift) * size).toFixed(2), "font-size": (scale * size).toFixed(2) }, text);
    if (italic) part.setAttribute("font-style", "italic");
    node.append(part);
    at = shift;
  }
  return node;
};
const signed = (text) => text.replace("-", "−");
const short = (x, digits = 4) => (x === null || !Number.isFinite(x) ? "–" : String(Number(x.toPrecision(digits))));

// a line of text that follows the pointer
const tip = element("div", { id: "tip", role: "status" });
document.body.append(tip);
const showTip = (event, text) => {
  tip.textContent = text;
  tip.style.display = "block";
  const width = tip.offsetWidth;
  tip.style.left = Math.min(event.clientX + 14, window.innerWidth - width - 6) + "px";
  tip.style.top = event.clientY + 16 + "px";
};
const hideTip = () => { tip.style.display = "none"; };

// decay chains
for (const node of document.querySelectorAll("[data-left]")) Object.assign(node.style, { left: node.dataset.left + "px", top: node.dataset.top + "px" });
for (const node of document.querySelectorAll("[data-width]")) Object.assign(node.style, { width: node.dataset.width + "px", height: node.dataset.height + "px" });

// tables
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.tabIndex = 0;
    const sort = () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
      const rows = [...table.tBodies[0].rows];
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === "" || y === "") return (x === "") - (y === ""); // what is not there comes last, up or down
        const numbers = !Number.isNaN(Number(x)) && !Number.isNaN(Number(y));
        return (numbers ? Number(x) - Number(y) : x.localeCompare(y)) * (down ? -1 : 1);
      };
      rows.sort(compare).forEach((row) => table.tBodies[0].append(row));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
}
// a table that is not wider than its box needs no box: its head then stays in view
const measured = new ResizeObserver((entries) => requestAnimationFrame(() => {
  for (const { target } of entries) target.classList.toggle("fits", target.scrollWidth <= target.clientWidth);
}));
for (const input of document.querySelectorAll("input.filter")) {
  const table = document.getElementById(input.dataset.of);
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of table.tBodies[0].rows) row.hidden = !(row.dataset.name ?? row.textContent).toLowerCase().includes(wanted);
  });
}
for (const tabs of document.querySelectorAll(".tabs[data-of]")) {
  const buttons = [...tabs.querySelectorAll("button")];
  const show = (name) => {
    buttons.forEach((button) => button.setAttribute("aria-pressed", button.dataset.tab === name));
    for (const part of document.querySelectorAll(`[data-part-of="${tabs.dataset.of}"]`)) part.hidden = part.dataset.tab !== name;
  };
  buttons.forEach((button) => button.addEventListener("click", () => show(button.dataset.tab)));
  if (buttons.length) show(buttons[0].dataset.tab);
}

for (const select of document.querySelectorAll("select[data-choose]")) {
  const show = () => { for (const part of document.querySelectorAll(`[data-choice="${select.dataset.choose}"]`)) part.hidden = part.dataset.tab !== select.value; };
  select.addEventListener("change", show);
  show();
}

// axes
const ticks = (low, high, count) => {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((f) => f >= rough * 0.999) ?? 10 * power;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
};
const logTicks = (low, high) => {
  const found = [];
  for (let k = Math.ceil(Math.log10(low) - 1e-9); k <= Math.log10(high) + 1e-9; k++) found.push(10 ** k);
  return found;
};

// A plot area inside an SVG: frame, ticks, labels; x(), y() go from numbers to pixels.
class Area {
  constructor(svg, box, xRange, yRange, options = {}) {
    Object.assign(this, { svg, box, xRange, yRange, options });
    const [left, top, width, height] = box;
    this.clip = "clip" + Area.count++;
    const clip = drawn("clipPath", { id: this.clip });
    clip.append(drawn("rect", { x: left, y: top, width, height }));
    const log = options.log, of = (v) => (log ? Math.log10(Math.max(v, yRange[0] * 1e-3)) : v);
    const [y0, y1] = yRange.map(of);
    this.x = (v) => left + ((v - xRange[0]) / (xRange[1] - xRange[0])) * width;
    this.y = (v) => top + height - ((of(v) - y0) / (y1 - y0)) * height;
    this.inside = drawn("g", { "clip-path": `url(#${this.clip})` });
    svg.append(clip);
    for (const v of options.guides ?? []) this.inside.append(drawn("line", { x1: left, x2: left + width, y1: this.y(v), y2: this.y(v), class: "guide" }));
    svg.append(this.inside);
    svg.append(drawn("rect", { x: left, y: top, width, height, class: "frame" }));
    for (const v of ticks(...xRange, options.xTicks ?? 7)) {
      const x = this.x(v);
      svg.append(drawn("line", { x1: x, x2: x, y1: top + height, y2: top + height - 5, class: "tick" }));
      if (!options.bare) svg.append(drawn("text", { x, y: top + height + 16, "text-anchor": "middle" }, signed(short(v))));
    }
    for (const v of log ? logTicks(...yRange) : ticks(...yRange, options.yTicks ?? 6)) {
      const y = this.y(v);
      svg.append(drawn("line", { x1: left, x2: left + 5, y1: y, y2: y, class: "tick" }));
      const power = v !== 0 && (Math.abs(v) >= 1e6 || Math.abs(v) < 1e-3);
      svg.append(drawn("text", { x: left - 7, y: y + 4, "text-anchor": "end" }, power ? v.toExponential(0).replace("+", "").replaceAll("-", "−") : signed(short(v))));
    }
    if (options.yLabel) {
      const y = top + height / 2;
      svg.append(write({ x: 14, y, "text-anchor": "middle", transform: `rotate(-90 14 ${y})` }, options.yLabel));
    }
  }
  path(points, attributes) {
    const text = points.map(([x, y], k) => (k ? "L" : "M") + this.x(x).toFixed(1) + " " + this.y(y).toFixed(1)).join("");
    const node = drawn("path", { d: text, fill: "none", ...attributes });
    this.inside.append(node);
    return node;
  }
  stairs(edges, values, attributes) {
    const points = [];
    values.forEach((v, k) => { points.push([edges[k], v], [edges[k + 1], v]); });
    return this.path(points, attributes);
  }
  points(xs, ys, errors, attributes) {
    const group = drawn("g", attributes);
    xs.forEach((x, k) => {
      if (ys[k] === null) return;
      const [px, py] = [this.x(x), this.y(ys[k])];
      if (errors) group.append(drawn("line", { x1: px, x2: px, y1: this.y(ys[k] - errors[k]), y2: this.y(ys[k] + errors[k]) }));
      group.append(drawn("circle", { cx: px, cy: py, r: 2.1, stroke: "none" }));
    });
    this.inside.append(group);
    return group;
  }
}
Area.count = 0;

const edgesOf = (low, high, n) => Array.from({ length: n + 1 }, (_, k) => low + ((high - low) * k) / n);
const centresOf = (edges) => edges.slice(1).map((e, k) => (e + edges[k]) / 2);
const colours = (group) => { const [colour, dash] = DATA.lines[group.line]; return { stroke: colour, "stroke-dasharray": dash || "none" }; };

// Files from what is on the page: drawings as SVG and PNG, their numbers as CSV. Nothing is sent anywhere.
const LOOKS = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-style", "text-anchor", "image-rendering"];
const save = (name, content, type) => {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
};
// a drawing that needs no style sheet, with what it means below
const standalone = (svg, entries) => {
  const copy = svg.cloneNode(true), from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((node, k) => {
    const look = getComputedStyle(node);
    if (!["g", "clipPath"].includes(node.localName)) for (const key of LOOKS) if (look.getPropertyValue(key)) to[k].setAttribute(key, look.getPropertyValue(key));
    to[k].removeAttribute("class");
  });
  for (const brush of copy.querySelectorAll(".brush")) brush.remove();
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  let x = 12, y = height + 16;
  for (const [mark, label] of entries) {
    const long = 46 + 7 * plain(label).length;
    if (x + long > width && x > 12) { x = 12; y += 18; }
    copy.append(drawn("line", { x1: x, x2: x + 26, y1: y - 4, y2: y - 4, "stroke-width": 2, ...mark }), write({ x: x + 31, y, fill: css("--ink"), "font-family": "sans-serif" }, label));
    x += long;
  }
  const all = entries.length ? y + 8 : height;
  copy.prepend(drawn("rect", { width, height: all, fill: css("--ground") }));
  for (const [key, value] of Object.entries({ xmlns: SVG, viewBox: `0 0 ${width} ${all}`, width, height: all })) copy.setAttribute(key, value);
  return [new XMLSerializer().serializeToString(copy), width, all];
};
const savePng = (name, svg, entries) => {
  const [text, width, height] = standalone(svg, entries), image = new Image(), scale = 3;
  image.onload = () => {
    const canvas = element("canvas", { width: scale * width, height: scale * height });
    canvas.getContext("2d").drawImage(image, 0, 0, scale * width, scale * height);
    canvas.toBlob((blob) => save(name + ".png", blob));
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
};
// Spreadsheets take what begins with one of these for a formula.
const field = (v) => {
  if (v === null || v === undefined) return "";
  if (typeof v === "number") return String(v);
  return '"' + v.replace(/^(?=[=+@\t\r-])/, "'").replaceAll('"', '""') + '"';
};
const csv = (head, rows) => [head, ...rows].map((row) => row.map(field).join(",") + "\r\n").join("");
// buttons for a drawing: rows() gives the head and the rows of its numbers
const saving = (name, svg, rows, entries = () => []) => {
  const file = name.replace(/[^\w.+-]+/g, "_").replace(/^_+|_+$/g, "").slice(0, 100) || "figure";
  const button = (kind, what, act) => element("button", { "data-save": kind, title: `save ${what}`, onclick: act }, kind.toUpperCase());
  return element("span", { class: "saving" },
    button("svg", "as SVG", () => save(file + ".svg", standalone(svg, entries())[0], "image/svg+xml")),
    button("png", "as PNG", () => savePng(file, svg, entries())),
    button("csv", "its numbers as CSV", () => save(file + ".csv", csv(...rows()), "text/csv")));
};

// One projection: data, fit, contributions; pulls below. Drag to zoom, double click for everything.
class ProjectionChart {
  constructor(host, chart, chosen, set) {
    Object.assign(this, { host, chart, chosen, set, log: false, zoom: null });
    this.edges = edgesOf(...chart.range, chart.data.length);
    this.fineEdges = edgesOf(...chart.range, chart.total.length);
    this.svg = drawn("svg", { class: "chart", viewBox: "0 0 640 460", role: "img", "aria-label": chart.title });
    const head = element("h3", {}, labelled(chart.label));
    this.logButton = element("button", { "aria-pressed": "false", onclick: () => { this.log = !this.log; this.logButton.setAttribute("aria-pressed", this.log); this.draw(); } }, "log scale");
    this.backButton = element("button", { hidden: true, onclick: () => this.reset() }, "whole range");
    const buttons = saving(chart.name, this.svg, () => this.numbers(), () => this.entries());
    host.append(element("div", { class: "tools" }, head, element("span", { class: "soft" }, chart.note), this.logButton, this.backButton, buttons), this.svg);
    this.listen();
    this.draw();
  }
  // M_gh of the chosen groups, added up: what these waves would give alone, interference between them included
  coherent(chosen) {
    const n = this.chart.groups.length, matrix = this.chart.matrix;
    return this.chart.total.map((_, bin) => {
      let sum = 0;
      for (let g = 0, at = 0; g < n; g++) for (let h = g; h < n; h++, at++) if (chosen.has(g) && chosen.has(h)) sum += (g === h ? 1 : 2) * matrix[at][bin];
      return sum;
    });
  }
  component(g) {
    const n = this.chart.groups.length;
    return this.chart.matrix[g * n - (g * (g - 1)) / 2];
  }
  // what the file of this drawing says about its lines
  entries() {
    const groups = [...this.chosen.groups].map((g) => [colours(this.set.groups[g]), this.set.groups[g].runs]);
    const more = this.chosen.coherent ? [[{ stroke: css("--accent"), "stroke-width": 4, opacity: 0.6 }, "coherent sum"]] : [];
    return [[{ stroke: css("--ink"), "stroke-dasharray": "2 24", "stroke-width": 5 }, "data"], [{ stroke: css("--fit") }, "fit"], ...groups, ...more];
  }
  // in the bins of the data: data, fit, and every contribution
  numbers() {
    const { chart, edges } = this, fine = chart.total.length / chart.data.length;
    const sum = (values, k) => values.slice(k * fine, (k + 1) * fine).reduce((a, b) => a + b, 0);
    const head = ["low", "high", "data", "error", "fit", "pull", "background", ...chart.added.map((own) => own.name), ...chart.groups];
    const rows = chart.data.map((v, k) => [
      ...[edges[k], edges[k + 1]].map((edge) => Number(edge.toPrecision(10))), v, chart.errors[k], chart.expected[k], chart.pulls[k], chart.background?.[k] ?? 0,
      ...[...chart.added.map((own) => own.events), ...chart.groups.map((_, g) => this.component(g))].map((values) => Number(sum(values, k).toPrecision(6)))]);
    return [head, rows];
  }
  reset() { this.zoom = null; this.draw(); }
  draw() {
    const { chart, svg, log } = this, fine = chart.total.length / chart.data.length;
    svg.replaceChildren();
    this.backButton.hidden = this.zoom === null;
    const range = this.zoom ?? chart.range;
    const background = chart.background, below = (bin) => (background ? background[Math.floor(bin / fine)] : 0);
    const heights = [chart.total.map((_, bin) => below(bin))]; // backgrounds one on the other
    for (const own of chart.added) heights.push(heights[heights.length - 1].map((v, bin) => v + fine * own.events[bin]));
    const fit = chart.total.map((v, bin) => v * fine + heights[heights.length - 1][bin]);
    const visible = (k) => this.edges[k + 1] > range[0] && this.edges[k] < range[1];
    let top = 1e-12;
    chart.data.forEach((v, k) => { if (visible(k)) top = Math.max(top, v + chart.errors[k]); });
    fit.forEach((v, bin) => { if (visible(Math.floor(bin / fine))) top = Math.max(top, v); });
    let low = 0;
    const curves = [...this.chosen.groups].map((g) => [g, this.component(g).map((v) => v * fine)]);
    if (this.chosen.interference) {
      const all = this.chart.groups.map((_, g) => this.component(g));
      this.interference = chart.total.map((v, bin) => fine * (v - all.reduce((sum, own) => sum + own[bin], 0)));
      this.interference.forEach((v, bin) => { if (visible(Math.floor(bin / fine))) low = Math.min(low, v); });
    }
    const yRange = log ? [Math.max(0.3, top * 1e-4), top * 2] : [low * 1.1, top * 1.08];
    const area = new Area(svg, [66, 10, 562, 300], range, yRange, { log, bare: true, yLabel: chart.yLabel });
    this.area = area;
    chart.added.map((own, k) => [own, heights[k + 1]]).reverse().forEach(([own, values]) => {
      const shape = values.flatMap((v, bin) => [[this.fineEdges[bin], v], [this.fineEdges[bin + 1], v]]);
      area.path([[this.fineEdges[0], yRange[0]], ...shape, [this.fineEdges[this.fineEdges.length - 1], yRange[0]]], { fill: own.colour, stroke: "none", "data-background": own.name });
    });
    if (background) {
      const shape = [];
      background.forEach((v, k) => shape.push([this.edges[k], v], [this.edges[k + 1], v]));
      area.path([[this.edges[0], yRange[0]], ...shape, [this.edges[this.edges.length - 1], yRange[0]]], { fill: css("--line"), stroke: css("--faint") });
    }
    for (const [g, values] of curves) area.stairs(this.fineEdges, values, { "stroke-width": 1.6, ...colours(this.set.groups[g]), "data-group": chart.groups[g] });
    if (this.chosen.interference) area.stairs(this.fineEdges, this.interference, { stroke: css("--soft"), "stroke-dasharray": "2 3", "data-curve": "interference" });
    if (this.chosen.coherent) area.stairs(this.fineEdges, this.coherent(this.chosen.groups).map((v) => v * fine), { stroke: css("--accent"), "stroke-width": 4, opacity: 0.6, "data-curve": "coherent" });
    area.stairs(this.fineEdges, fit, { stroke: css("--fit"), "stroke-width": 1.8, "data-curve": "fit" });
    area.points(centresOf(this.edges), chart.data.map((v, k) => (v === 0 && chart.errors[k] === 0 ? null : v)), chart.errors, { stroke: css("--ink"), fill: css("--ink") });
    const pulls = new Area(svg, [66, 322, 562, 92], range, [-4.5, 4.5], { guides: [-2, 0, 2], yTicks: 6, yLabel: "pull" });
    const width = ((this.edges[1] - this.edges[0]) / (range[1] - range[0])) * 562;
    chart.pulls.forEach((v, k) => {
      if (v === null || !visible(k)) return;
      const [zero, end] = [pulls.y(0), pulls.y(Math.max(-4.5, Math.min(4.5, v)))];
      pulls.inside.append(drawn("rect", { x: pulls.x(this.edges[k]) + 0.5, width: Math.max(width - 1, 0.6), y: Math.min(zero, end), height: Math.abs(end - zero), fill: Math.abs(v) > 3 ? css("--bad") : css("--faint") }));
    });
    svg.append(write({ x: 628, y: 450, "text-anchor": "end" }, chart.xLabel, 14));
  }
  at(event) {
    const box = this.svg.getBoundingClientRect(), [left, , width] = this.area.box;
    const pixel = ((event.clientX - box.left) / box.width) * 640;
    const [low, high] = this.area.xRange;
    return low + ((Math.max(left, Math.min(left + width, pixel)) - left) / width) * (high - low);
  }
  listen() {
    let from = null, brush = null;
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") return; // fingers scroll
      from = this.at(event);
      brush = drawn("rect", { class: "brush", y: 10, height: 404, x: 0, width: 0 });
      this.svg.append(brush);
      this.svg.setPointerCapture(event.pointerId);
    });
    this.svg.addEventListener("pointermove", (event) => {
      const x = this.at(event);
      if (from !== null) {
        const [a, b] = [this.area.x(Math.min(from, x)), this.area.x(Math.max(from, x))];
        brush.setAttribute("x", a);
        brush.setAttribute("width", b - a);
      }
      const k = Math.min(this.chart.data.length - 1, Math.max(0, Math.floor(((x - this.edges[0]) / (this.edges[this.edges.length - 1] - this.edges[0])) * this.chart.data.length)));
      const pull = this.chart.pulls[k];
      showTip(event, `${short(this.edges[k], 5)} … ${short(this.edges[k + 1], 5)}\ndata ${short(this.chart.data[k], 6)}\nfit ${short(this.chart.expected[k], 6)}` + (pull === null ? "" : `\npull ${pull.toFixed(2)}`));
    });
    this.svg.addEventListener("pointerleave", hideTip);
    this.svg.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const to = this.at(event), [low, high] = [Math.min(from, to), Math.max(from, to)];
      from = null;
      brush.remove();
      if (high - low > 0.01 * (this.area.xRange[1] - this.area.xRange[0])) { this.zoom = [low, high]; this.draw(); }
    });
    this.svg.addEventListener("dblclick", () => this.reset());
  }
}

const sample = (attributes) => {
  const svg = drawn("svg", { viewBox: "0 0 26 10" });
  svg.append(drawn("line", { x1: 1, x2: 25, y1: 5, y2: 5, "stroke-width": 2.2, ...attributes }));
  return svg;
};
for (const host of document.querySelectorAll("[data-projections]")) {
  const set = DATA.data_sets[Number(host.dataset.projections)];
  const chosen = { groups: new Set(set.drawn), coherent: false, interference: false }, charts = [];
  const redraw = () => charts.forEach((chart) => chart.draw());
  const now = element("summary");
  const draw = () => now.replaceChildren(...[...chosen.groups].map((g) => element("span", {}, sample(colours(set.groups[g])), labelled(set.groups[g].label))), element("span", { class: "soft" }, `${chosen.groups.size} of ${set.groups.length}`));
  const tick = (checked, change, mark, label, name) => element("label", { "data-toggle": name }, element("input", { type: "checkbox", checked, onchange: (event) => { change(event.target.checked); draw(); redraw(); } }), mark, label);
  const boxes = set.groups.map((group, g) => tick(chosen.groups.has(g), (on) => chosen.groups[on ? "add" : "delete"](g), sample(colours(group)), labelled(group.label), group.name));
  const all = (on) => () => { boxes.forEach((box, g) => { box.firstChild.checked = on; chosen.groups[on ? "add" : "delete"](g); }); draw(); redraw(); };
  const inside = element("div", { class: "entries" }, ...boxes, tick(false, (on) => { chosen.interference = on; }, sample({ stroke: css("--soft"), "stroke-dasharray": "2 3" }), "interference of all", "interference"), tick(false, (on) => { chosen.coherent = on; }, sample({ stroke: css("--accent"), "stroke-width": 4, opacity: 0.6 }), "coherent sum of those ticked", "coherent"));
  for (const own of set.projections[0]?.added ?? []) inside.append(element("span", { "data-background": own.name }, sample({ stroke: own.colour, "stroke-width": 9 }), own.name));
  inside.append(element("button", { onclick: all(true) }, "all"), element("button", { onclick: all(false) }, "none"));
  const legend = element("details", { class: "legend" }, now, inside); // stays in view; on a narrow screen it says only what is drawn, until it is opened
  const room = matchMedia("(min-width: 701px)"), unfold = () => { legend.open = room.matches; };
  room.addEventListener("change", unfold);
  unfold();
  draw();
  const panels = element("div", { class: "panels" });
  host.append(legend, panels);
  for (const chart of set.projections) {
    const figure = element("figure");
    panels.append(figure);
    charts.push(new ProjectionChart(figure, chart, chosen, set));
  }
}

// maps: numbers in cells, drawn pixel by pixel
const SCALES = {
  events: ["#ffffff00", "#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"],
  diverging: ["#2166ac", "#67a9cf", null, "#ef8a62", "#b2182b"],
};
const parse = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
const colourOf = (scale, t) => {
  const stops = SCALES[scale].slice(scale === "events" ? 1 : 0).map((stop) => parse(stop ?? css("--zero")));
  const at = Math.max(0, Math.min(1, t)) * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2);
  return stops[k].map((v, i) => Math.round(v + (stops[k + 1][i] - v) * (at - k)));
};
// rows[y][x], the first at the bottom if options.up; null is transparent
const painted = (rows, toShare, scale, up) => {
  const height = rows.length, width = rows[0].length;
  const canvas = element("canvas", { width, height });
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  rows.forEach((row, y) => row.forEach((v, x) => {
    if (v !== null) image.data.set([...colourOf(scale, toShare(v)), 255], 4 * ((up ? height - 1 - y : y) * width + x));
  }));
  context.putImageData(image, 0, 0);
  return canvas;
};
// a colour bar [left, top, width, height]: the numbers of a range, and their colours
const bar = (svg, [left, top, width, height], [low, high], toShare, scale, text) => {
  const steps = 64, place = (share) => top + height * (1 - share), share = (k) => (k + 0.5) / steps;
  for (let k = 0; k < steps; k++) svg.append(drawn("rect", { x: left, y: place((k + 1) / steps), width, height: height / steps + 0.4, fill: `rgb(${colourOf(scale, share(k))})` }));
  svg.append(drawn("rect", { x: left, y: top, width, height, class: "frame" }));
  for (const v of ticks(low, high, 5)) {
    const y = place(Math.max(0, Math.min(1, toShare(v))));
    svg.append(drawn("line", { x1: left + width, x2: left + width + 4, y1: y, y2: y, class: "tick" }));
    svg.append(drawn("text", { x: left + width + 6, y: y + 4, "font-size": 11 }, text(v)));
  }
};
const explain = (node, width, height, describe, up) => {
  node.addEventListener("pointermove", (event) => {
    const box = node.getBoundingClientRect();
    if (!box.width) return; // it is hidden
    const x = Math.max(0, Math.min(width - 1, Math.floor(((event.clientX - box.left) / box.width) * width)));
    const y = Math.max(0, Math.min(height - 1, Math.floor(((event.clientY - box.top) / box.height) * height)));
    const text = describe(x, up ? height - 1 - y : y);
    if (text === null) hideTip(); else showTip(event, text);
  });
  node.addEventListener("pointerleave", hideTip);
};
// A matrix: one half of it, as the other one is the same. Names at both sides, numbers in the cells if there is room.
const LONGEST = 30, WIDEST = 1130, SMALLEST = 0.7; // letters of a name; pixels; how much smaller a matrix is drawn to fit
for (const host of document.querySelectorAll("[data-matrix]")) {
  const { title, names, labels, tips, values, digits, largest, root } = DATA.matrices[host.dataset.matrix];
  const part = (v) => (root ? Math.sqrt(v) : v); // small interferences next to large fractions
  const n = names.length, share = (v) => 0.5 + (Math.sign(v) * part(Math.abs(v) / largest)) / 2, number = (v) => signed(v.toFixed(Math.abs(v) < 99.95 ? digits : 0).replace(/^-(0\.?0*)$/, "$1"));
  const letters = Math.min(LONGEST, Math.max(...tips.map((tip) => tip.length)));
  const cell = n <= 12 ? 40 : n <= 25 ? 33 : Math.max(10, Math.min(20, (WIDEST - 200) / n)), size = n <= 25 ? 12 : Math.min(11, cell - 1);
  const side = 12 + 0.56 * size * letters, whole = n * cell, wide = side + Math.max(whole, 90) + 6;
  const svg = drawn("svg", { class: "chart", viewBox: `0 0 ${wide} ${whole + side + 6}`, role: "img", "aria-label": title });
  const rows = values.map((row, y) => row.map((v, x) => (x <= y ? v : null)));
  const image = drawn("image", { x: side, y: 3, width: whole, height: whole, preserveAspectRatio: "none", href: painted(rows, share, "diverging", false).toDataURL() });
  explain(image, n, n, (x, y) => (x > y ? null : `${tips[y]}\n${tips[x]}\n${number(values[y][x])}`), false);
  svg.append(image, drawn("path", { d: `M${side} 3v${whole}h${whole}`, class: "frame" }));
  labels.forEach((label, k) => {
    const middle = 3 + (k + 0.5) * cell, x = side + (k + 0.5) * cell, below = whole + 9;
    svg.append(write({ x: side - 6, y: middle + 0.35 * size, "text-anchor": "end" }, label, size));
    svg.append(write({ x, y: below, "text-anchor": "end", transform: `rotate(-90 ${x} ${below})`, dy: 0.35 * size }, label, size));
  });
  if (n <= 25) rows.forEach((row, y) => row.forEach((v, x) => {
    if (v === null) return;
    const [r, g, b] = colourOf("diverging", share(v)), dark = 0.3 * r + 0.59 * g + 0.11 * b < 130;
    svg.append(drawn("text", { x: side + (x + 0.5) * cell, y: 7 + (y + 0.5) * cell, "text-anchor": "middle", class: dark ? "on-dark" : "on-light", "pointer-events": "none", "font-size": n <= 12 ? 11 : 9.5 }, number(v)));
  }));
  if (n > 4) bar(svg, [wide - 62, 3, 12, 0.42 * whole], [-largest, largest], share, "diverging", (v) => signed(short(v))); // where the other half would be
  svg.setAttribute("width", wide);
  svg.style.minWidth = `${SMALLEST * wide}px`; // where there is less room, it can be scrolled
  host.append(element("div", { class: "tools" }, saving(title, svg, () => [["", ...names], values.map((row, y) => [names[y], ...row])])), element("div", { class: "heat scroll bare" }, svg));
}
for (const host of document.querySelectorAll("[data-dalitz]")) {
  const [set, number] = host.dataset.dalitz.split(".").map(Number), grid = DATA.data_sets[set].grids[number];
  const flat = grid.data.flat().concat(grid.expected.flat()).filter((v) => v > 0).sort((a, b) => a - b);
  const top = flat[Math.floor(0.997 * (flat.length - 1))] ?? 1;
  const edges = [edgesOf(...grid.ranges[0], grid.data[0].length), edgesOf(...grid.ranges[1], grid.data.length)];
  const panel = (title, rows, range, toShare, scale, unit) => {
    const figure = element("figure"), svg = drawn("svg", { class: "chart", viewBox: "0 0 420 340", role: "img", "aria-label": `Dalitz plot, ${title}` });
    const area = [58, 8, 292, 282];
    const image = drawn("image", { x: area[0], y: area[1], width: area[2], height: area[3], preserveAspectRatio: "none", href: painted(rows, toShare, scale, true).toDataURL() });
    explain(image, rows[0].length, rows.length, (x, y) => (rows[y][x] === null ? null : `${short(centresOf(edges[0])[x])}, ${short(centresOf(edges[1])[y])} ${grid.unit}\n${signed(short(rows[y][x]))} ${unit}`), true);
    svg.append(image);
    const frame = new Area(svg, area, grid.ranges[0], grid.ranges[1], { xTicks: 5, yTicks: 5, yLabel: grid.labels[1] });
    frame.inside.setAttribute("pointer-events", "none");
    if (grid.boundary) { // cells on the boundary are cut by it
      const outline = frame.path(grid.boundary, { stroke: css("--ink"), "stroke-width": 1 }), clip = drawn("clipPath", { id: frame.clip + "b" });
      clip.append(drawn("path", { d: outline.getAttribute("d") }));
      svg.append(clip);
      image.setAttribute("clip-path", `url(#${frame.clip}b)`);
      svg.prepend(drawn("path", { d: outline.getAttribute("d"), fill: css("--nothing") })); // cells without a number
    }
    svg.append(write({ x: 350, y: 332, "text-anchor": "end" }, grid.labels[0], 13));
    bar(svg, [362, 8, 12, 282], range, toShare, scale, (v) => signed(short(v)));
    svg.append(write({ x: 416, y: 306, "text-anchor": "end", class: "soft" }, unit, 11));
    const centres = edges.map(centresOf), digits = (v) => Number(v.toPrecision(10));
    const rowsOf = () => [[...grid.names, title], rows.flatMap((row, y) => row.flatMap((v, x) => (v === null ? [] : [[digits(centres[0][x]), digits(centres[1][y]), v]])))];
    figure.append(element("div", { class: "tools" }, element("h3", {}, title), saving(`dalitz ${title}`, svg, rowsOf)), svg);
    host.append(figure);
  };
  const root = (v) => Math.sqrt(Math.max(v, 0) / top);
  panel("data", grid.data, [0, top], root, "events", "events / cell");
  panel("fit", grid.expected, [0, top], root, "events", "events / cell");
  panel("pull", grid.pulls, [-4, 4], (v) => 0.5 + v / 8, "diverging", "σ");
}

for (const box of document.querySelectorAll(".scroll")) measured.observe(box);

// small charts: lines with bands, points with errors
const chartOf = (chart) => {
  const svg = drawn("svg", { class: "chart", viewBox: "0 0 420 320", role: "img", "aria-label": chart.name ?? "" });
  const area = new Area(svg, [62, 10, 346, 262], chart.xRange, chart.yRange, { log: chart.log, xTicks: 5, yTicks: 5, yLabel: chart.yLabel, guides: chart.guides });
  for (const series of chart.series) {
    const stroke = series.colour === "fit" ? css("--fit") : series.colour === "ink" ? css("--ink") : series.colour ?? css("--accent");
    if (series.band) {
      const [low, high] = series.band;
      area.path([...series.x.map((x, k) => [x, low[k]]), ...series.x.map((x, k) => [x, high[k]]).reverse()], { fill: stroke, opacity: 0.22, stroke: "none" });
    }
    if (series.kind === "points") area.points(series.x, series.y, series.errors, { stroke, fill: stroke });
    else if (series.kind === "stairs") area.stairs(series.x, series.y, { stroke, "stroke-width": 1.6 });
    else area.path(series.x.map((x, k) => [x, series.y[k]]), { stroke, "stroke-width": 1.6 });
    for (const mark of series.marks ?? []) {
      area.inside.append(drawn("circle", { cx: area.x(mark.x), cy: area.y(mark.y), r: 2.6, fill: stroke }));
      area.inside.append(drawn("text", { x: area.x(mark.x) + 5, y: area.y(mark.y) - 4, class: "soft" }, mark.text));
    }
  }
  svg.append(write({ x: 408, y: 312, "text-anchor": "end" }, chart.xLabel, 13));
  return svg;
};
const numbersOf = (chart) => {
  const head = ["series", plain(chart.xLabel), "to", plain(chart.yLabel), "error or lower", "upper"];
  const rows = chart.series.filter((own) => own.colour !== null).flatMap((own) => own.y.map((y, k) => [
    { fit: "fit", ink: "data" }[own.colour] ?? own.kind, own.x[k], own.kind === "stairs" ? own.x[k + 1] : null, y, own.errors?.[k] ?? own.band?.[0][k], own.band?.[1][k]]));
  return [head, rows];
};
for (const host of document.querySelectorAll("[data-chart]")) {
  const chart = DATA.charts[host.dataset.chart];
  const svg = chartOf(chart);
  host.append(element("div", { class: "tools" }, element("h3", {}, labelled(chart.title)), saving(chart.name, svg, () => numbersOf(chart))), svg);
  if (chart.note) host.append(element("p", { class: "caption" }, chart.note));
}

// where we are on the page
const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) { links.forEach((link) => link.classList.remove("here")); links.get(entry.target.id)?.classList.add("here"); }
}, { rootMargin: "-10% 0px -80% 0px" });
document.querySelectorAll("section[id]").forEach((section) => seen.observe(section));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => location.reload()); // colours are drawn in
document.documentElement.dataset.ready = "true";
