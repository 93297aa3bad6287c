/* chart.js - axes, dots, curves, and the small charts in table cells. */

const COLOURS = 8;

function colour(i) {
  return `var(--s${i % COLOURS})`;
}

/* Returns the dashes of a curve; curves of the same colour differ in them. */
function dashes(i) {
  return [null, "7 4", "2 3", "9 3 2 3"][Math.floor(i / COLOURS) % 4];
}

/* ---- axes ---- */

function linear(low, high, from, to) {
  const span = high - low || 1;
  return (x) => from + ((x - low) / span) * (to - from);
}

function logarithmic(low, high, from, to) {
  const scale = linear(Math.log(low), Math.log(high), from, to);
  return (x) => scale(Math.log(x));
}

/* Returns ticks 1, 2 or 5 times a power of ten apart, at most n + 1 of them. */
function linearTicks(low, high, n) {
  const rough = (high - low || 1) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((x) => x * power >= rough) || 10);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) {
    ticks.push(i * step || 0);
  }
  return ticks;
}

function logTicks(low, high, n) {
  const decades = Math.log10(high / low);
  const times = decades > n ? [1] : decades > n / 2 ? [1, 3] : [1, 2, 5];
  const every = Math.max(1, Math.ceil(decades / (n + 1)));
  const ticks = [];
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++) {
    if (p % every) continue;
    ticks.push(...times.map((t) => t * 10 ** p));
  }
  return ticks.filter((t) => t >= low * 0.999 && t <= high * 1.001);
}

function tickText(value) {
  const size = Math.abs(value);
  if (size >= 1e6 || (size && size < 1e-3)) return value.toExponential(0);
  return String(Number(value.toPrecision(6)));
}

/* Draws the frame of a chart; returns { node, plot, x, y, box }. o has width, height, x
 * and y as { low, high, log, label }. */
function frame(o) {
  const box = { left: 58, right: o.width - 14, top: 12, bottom: o.height - 44 };
  const scale = (axis, from, to) =>
    (axis.log ? logarithmic : linear)(axis.low, axis.high, from, to);
  const ticks = (axis, n) => (axis.log ? logTicks : linearTicks)(axis.low, axis.high, n);
  const x = scale(o.x, box.left, box.right), y = scale(o.y, box.bottom, box.top);
  const grid = draw("g", { class: "grid" });
  for (const t of ticks(o.x, Math.max(3, Math.floor(o.width / 110)))) {
    grid.append(draw("path", { d: `M${x(t)} ${box.top}V${box.bottom}` }),
      draw("text", { x: x(t), y: box.bottom + 16, "text-anchor": "middle" },
        tickText(t)));
  }
  for (const t of ticks(o.y, 6)) {
    grid.append(draw("path", { d: `M${box.left} ${y(t)}H${box.right}` }),
      draw("text", { x: box.left - 6, y: y(t) + 4, "text-anchor": "end" }, tickText(t)));
  }
  const middle = (box.top + box.bottom) / 2;
  grid.append(
    draw("text", { class: "label", x: (box.left + box.right) / 2, y: o.height - 8,
      "text-anchor": "middle" }, o.x.label),
    draw("text", { class: "label", transform: `translate(13,${middle}) rotate(-90)`,
      "text-anchor": "middle" }, o.y.label));
  const plot = draw("g", {});
  const node = draw("svg", { viewBox: `0 0 ${o.width} ${o.height}`, role: "img",
    "aria-label": `${o.y.label} by ${o.x.label}` }, grid, plot);
  return { node, plot, x, y, box };
}

/* Returns the range of values with a margin on both sides, never empty. */
function range(values, log) {
  const list = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
  let low = list.reduce((a, b) => Math.min(a, b), Infinity);
  let high = list.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!list.length) [low, high] = log ? [1, 10] : [0, 1];
  if (log) return low === high ? [low / 2, high * 2] : [low / 1.3, high * 1.3];
  const margin = (high - low) / 20 || Math.abs(high) / 20 || 0.5;
  return [low - margin, high + margin];
}

/* ---- legend ---- */

/* Draws a circle for tile, a square for group, a triangle for other providers. */
function marker(shape, x, y, attributes) {
  const r = 4.5;
  if (shape === "tile") return draw("circle", { cx: x, cy: y, r, ...attributes });
  const d = shape === "group"
    ? `M${x - 4} ${y - 4}h8v8h-8z`
    : `M${x} ${y - 5.5}L${x + 5} ${y + 4}H${x - 5}z`;
  return draw("path", { d, ...attributes });
}

function legend(entries) {
  return el("ul", { class: "legend" }, entries.map((e) => el("li", {},
    draw("svg", { width: 22, height: 14, "aria-hidden": true },
      e.shape ? marker(e.shape, 11, 7, { fill: e.colour || "currentColor" })
        : draw("path", { d: "M1 7h20", "stroke-width": 3, stroke: e.colour,
          "stroke-dasharray": e.dashes })), e.name)));
}

/* ---- charts in table cells ---- */

const CELL = { width: 170, height: 20 };

function cell(label, ...children) {
  return draw("svg", { class: "cell", width: CELL.width, height: CELL.height, role: "img",
    viewBox: `0 0 ${CELL.width} ${CELL.height}`, "aria-label": label }, children);
}

/* Draws each sample as a tick by its distance from the median; `most` is the distance
 * at both ends. Samples beyond it are ticks of another colour at the end. */
function strip(row, most) {
  const at = (ms) => linear(1 - most, 1 + most, 4, CELL.width - 4)(ms / row.ms);
  const inside = (ms) => Math.abs(ms / row.ms - 1) <= most;
  const ticks = (list, place) => list.map((ms) => `M${place(ms).toFixed(1)} 4v12`).join("");
  const clamp = (ms) => Math.min(CELL.width - 2, Math.max(2, at(ms)));
  const band = (low, high, kind) => draw("rect", { class: kind, x: clamp(low), y: 2,
    width: Math.max(1, clamp(high) - clamp(low)), height: 16 });
  return cell(`${row.samples.length} samples, median ${digits(row.ms)} ms`,
    row.interval ? band(row.interval[0], row.interval[1], "interval")
      : band(row.p25, row.p75, "interval"),
    draw("path", { class: "axis", d: `M${at(row.ms)} 0v20` }),
    draw("path", { class: "tick", d: ticks(row.samples.filter(inside), at) }),
    draw("path", { class: "tick beyond",
      d: ticks(row.samples.filter((ms) => !inside(ms)), clamp) }));
}

/* Draws a share of the peak; a share above 100 % gets an arrow. */
function bar(share) {
  if (!(share > 0)) return "";
  const width = Math.min(share, 100) * 0.7;
  return el("span", { class: "share" },
    draw("svg", { width: 78, height: 12, "aria-hidden": true },
      draw("rect", { class: "track", width: 70, height: 12, rx: 2 }),
      draw("rect", { class: "bar", width, height: 12, rx: 2 }),
      share > 100 ? draw("path", { class: "bar", d: "M72 1l6 5-6 5z" }) : null),
    percent(share));
}

/* Draws a ratio with its interval on the logarithmic scale from 1 / most to most. */
function whisker(one, most) {
  const scale = logarithmic(1 / most, most, 6, CELL.width - 6);
  const at = (x) => scale(Math.min(most, Math.max(1 / most, x))).toFixed(1);
  const [low, high] = one.interval || [one.ratio, one.ratio];
  return cell(`${digits(low, 3)} to ${digits(high, 3)}`,
    draw("rect", { class: "same", x: at(1 / 1.05), y: 0, height: 20,
      width: at(1.05) - at(1 / 1.05) }),
    draw("path", { class: "axis", d: `M${at(1)} 0v20` }),
    draw("path", { class: `range ${one.verdict}`, d: `M${at(low)} 10H${at(high)}` }),
    draw("circle", { class: one.verdict, cx: at(one.ratio), cy: 10, r: 4 }));
}
