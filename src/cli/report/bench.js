/* bench.js - results of `clattn bench`: machines, roofline, comparisons, all cases. */

const OWN = ["tile", "group"];

function readRow(file, raw, interval) {
  const samples = Array.isArray(raw.samples_ms) ? raw.samples_ms : [];
  return {
    file, raw, interval, samples,
    suite: text(raw.suite), name: text(raw.case), by: text(raw.provider),
    device: text(raw.device), ms: number(raw.median_ms), p25: number(raw.p25_ms),
    p75: number(raw.p75_ms), gflops: number(raw.gflops), gbs: number(raw.gbs),
    share: number(raw.peak_share),
    get spread() { return (100 * (this.p75 - this.p25)) / this.ms; },
  };
}

const benchNames = shortNames(data.bench.map((f) => f.file));
const bench = data.bench.map((f, i) => ({
  letter: letter(i), path: f.file, name: benchNames[i],
  rows: f.rows.map((raw, j) => readRow(i, raw, f.interval[j])),
}));
const allRows = bench.flatMap((f) => f.rows);

/* What tells a device from others of its file; files of older versions have the name
 * alone. */
function identity(row) {
  return JSON.stringify(["device", "index", "uuid", "driver"].map((k) => text(row.raw[k])));
}

/* Returns the name of a device; devices of one name get their index, so that two equal
 * cards stay apart. */
function deviceLabel(row, devices) {
  const twins = devices.filter((d) => d.raw.device === row.raw.device);
  const alike = twins.some((t) => t !== row && t.raw.index === row.raw.index);
  const place = Number.isInteger(row.raw.index) && !alike ? `device ${row.raw.index}`
    : `no. ${twins.indexOf(row) + 1}`;
  return text(row.raw.device) + (twins.length > 1 ? ` (${place})` : "");
}

/* A series is a device of a file; it has a colour and a column. */
const series = bench.flatMap((f, file) => {
  const first = new Map();
  f.rows.forEach((r) => {
    r.id = identity(r);
    if (!first.has(r.id)) first.set(r.id, r);
  });
  const devices = [...first.values()];
  f.rows.forEach((r) => { r.device = deviceLabel(first.get(r.id), devices); });
  return devices.map((d) => ({ file, id: d.id, device: d.device }));
});
series.forEach((s) => {
  const alone = series.filter((t) => t.file === s.file).length === 1;
  const letters = bench.length > 1 ? bench[s.file].letter : "";
  s.name = alone && letters ? `${letters} ${bench[s.file].name}`
    : [letters, s.device].filter(Boolean).join(" ");
  s.rows = bench[s.file].rows.filter((r) => r.id === s.id);
});

function seriesOf(row) {
  return series.findIndex((s) => s.file === row.file && s.id === row.id);
}

/* ---- the filter of all parts of the page about results ---- */

const filter = { words: "", suite: "", by: "", file: "", device: "" };
const filtered = []; // functions that apply it

function wanted(row) {
  const name = `${row.name} ${row.by}`.toLowerCase();
  return filter.words.toLowerCase().split(/\s+/).every((w) => name.includes(w)) &&
    ["suite", "by", "device"].every((k) => !filter[k] || row[k] === filter[k]) &&
    (!filter.file || bench[row.file].letter === filter.file);
}

function applyFilter() {
  filtered.forEach((follow) => follow());
}

function choice(key, label, values) {
  if (values.length < 2) return null;
  const select = el("select", { "data-key": key,
    onchange: (e) => { filter[key] = e.target.value; applyFilter(); } },
  el("option", { value: "" }, "all"), values.map((v) => el("option", { value: v }, v)));
  return el("label", {}, label, select);
}

function filterBar() {
  const count = el("output", { id: "count" });
  const input = el("input", { type: "search", id: "words", placeholder: "fwd T512",
    autocomplete: "off", oninput: (e) => { filter.words = e.target.value; applyFilter(); } });
  filtered.push(() => {
    const shown = allRows.filter(wanted).length;
    count.textContent = `${shown} of ${plural(allRows.length, "row")}`;
  });
  return el("form", { class: "filter", onsubmit: (e) => e.preventDefault() },
    el("label", {}, "Case", input),
    choice("suite", "Suite", unique(allRows.map((r) => r.suite))),
    choice("by", "By", unique(allRows.map((r) => r.by))),
    choice("file", "File", bench.length > 1 ? bench.map((f) => f.letter) : []),
    choice("device", "Device", unique(allRows.map((r) => r.device))), count);
}

/* ---- machines ---- */

function span(values) {
  const list = values.filter((v) => v !== "" && !Number.isNaN(v));
  if (!list.length) return "";
  const sorted = [...list].sort(byValue);
  const [first, last] = [sorted[0], sorted[sorted.length - 1]];
  const show = (v) => (typeof v === "number" ? digits(v, 3) : v);
  return first === last ? show(first) : `${show(first)} to ${show(last)}`;
}

function facts(s) {
  const all = (key) => unique(s.rows.map((r) => text(r.raw[key]))).filter(Boolean);
  const largest = (key) => Math.max(0, ...s.rows.map((r) => number(r.raw[key]) || 0));
  const checked = s.rows.filter((r) => r.raw.verified === true).length;
  const told = s.rows.some((r) => "verified" in r.raw);
  const peaks = [[largest("peak_gbs"), "GB/s"], [largest("peak_gflops"), "GFLOP/s"]];
  const version = all("version").map((v) => `clattn ${v}`);
  return [
    ["Device", s.device],
    ["Index", all("index").join(", ")],
    ["UUID", all("uuid").join(", ")],
    ["Platform", all("platform").join(", ")],
    ["Driver", all("driver").join(", ")],
    ["Units, memory", [all("units").join(", "), bytes(largest("memory_bytes") || NaN)]
      .filter(Boolean).join(", ")],
    ["Host", all("host").join("; ")],
    ["Measured peaks", peaks.filter((p) => p[0]).map((p) => `${digits(p[0])} ${p[1]}`)
      .join(", ")],
    ["Built from", [...version, ...all("commit")].join(", ")],
    ["Measured", span(s.rows.map((r) => text(r.raw.date)))],
    ["Load average", span(s.rows.map((r) => number(r.raw.load)))],
    ["Rows", String(s.rows.length)],
    ["Verified", told ? `${checked} of ${plural(s.rows.length, "row")}` : ""],
  ].filter((fact) => fact[1]);
}

/* Returns what a row says of other work. Files of older versions have the load alone: a
 * benchmark loads all processors itself. */
function disturbed(row) {
  const processors = Number((/([0-9]+) processors/.exec(text(row.raw.host)) || [])[1]);
  const load = number(row.raw.load);
  return text(row.raw.warning) || (load > 1.5 * processors
    ? `load ${load.toFixed(1)} on ${processors} processors: other work is running` : "");
}

/* Warns of the highest load under which rows of a device were measured. */
function loadWarning(s) {
  const rows = s.rows.filter(disturbed);
  const worst = rows.reduce((a, b) =>
    (a && number(a.raw.load) >= number(b.raw.load) ? a : b), null);
  return worst && el("p", { class: "warning" }, "Warning: ", disturbed(worst),
    ` (${rows.length} of ${plural(s.rows.length, "row")}).`);
}

function machine(s) {
  const commands = unique(s.rows.map((r) => text(r.raw.command))).filter(Boolean);
  const list = facts(s);
  const lines = () => [...list, ...commands.map((c) => ["Command", "`" + c + "`"])]
    .map((f) => `| ${f.map(escapeMarkdown).join(" | ")} |`);
  const file = bench[s.file];
  return el("article", { class: "card" },
    el("h3", {}, el("span", { class: "dot",
      style: `background:${colour(series.indexOf(s))}` }),
    bench.length > 1 ? `${file.letter} ` : "", file.name),
    loadWarning(s),
    el("dl", {}, list.map(([k, v]) => [el("dt", {}, k), el("dd", {}, v)])),
    commands.map((c) => el("div", { class: "command" }, el("code", {}, c),
      copyButton("Copy", () => c))),
    el("p", { class: "tools" }, copyButton("Copy as Markdown",
      () => ["| | |", "| --- | --- |", ...lines(), ""].join("\n"))));
}

/* ---- roofline ---- */

function peaksOf(s) {
  const most = (key) => Math.max(0, ...s.rows.map((r) => number(r.raw[key]) || 0));
  return { gbs: most("peak_gbs"), gflops: most("peak_gflops") };
}

function roof(f, s, i, low, high) {
  const { gbs, gflops } = peaksOf(s);
  if (!(gbs && gflops)) return;
  const knee = Math.min(high, Math.max(low, gflops / gbs));
  const place = (x) => `${f.x(x)} ${f.y(Math.min(gbs * x, gflops))}`;
  f.plot.append(draw("path", { class: "roof", stroke: colour(i),
    d: `M${place(low)}L${place(knee)}L${place(high)}` }));
}

function roofline() {
  const rows = allRows.filter((r) => r.gflops > 0 && r.gbs > 0);
  const peaks = series.map(peaksOf).filter((p) => p.gbs && p.gflops);
  const readout = el("p", { class: "readout" },
    "Point at a dot, or press it to go to its row.");
  const say = (r) => {
    readout.textContent = `${r.name}, ${r.by}${bench.length > 1
      ? ", " + bench[r.file].letter : ""}: ${digits(r.gflops)} GFLOP/s, ` +
      `${digits(r.gbs)} GB/s, ${digits(r.gflops / r.gbs)} FLOP per byte, ` +
      `${percent(r.share)} of the peak`;
  };
  const dots = new Map();
  const make = (width) => {
    const knees = peaks.map((p) => p.gflops / p.gbs);
    const [xLow, xHigh] = range([...rows.map((r) => r.gflops / r.gbs), ...knees], true);
    const [yLow, yHigh] = range([...rows.map((r) => r.gflops),
      ...peaks.map((p) => p.gflops)], true);
    const f = frame({ width, height: width < 500 ? 300 : 400,
      x: { low: xLow, high: xHigh, log: true, label: "FLOP per byte" },
      y: { low: yLow, high: yHigh, log: true, label: "GFLOP/s" } });
    const clip = draw("clipPath", { id: "roof" }, draw("rect", { x: f.box.left,
      y: f.box.top, width: f.box.right - f.box.left, height: f.box.bottom - f.box.top }));
    f.plot.setAttribute("clip-path", "url(#roof)");
    series.forEach((s, i) => roof(f, s, i, xLow, xHigh));
    rows.forEach((r) => {
      const dot = marker(OWN.includes(r.by) ? r.by : "other", f.x(r.gflops / r.gbs),
        f.y(r.gflops), { class: "dot", fill: colour(seriesOf(r)),
          onpointerenter: () => say(r), onclick: () => openRow(r) });
      dot.append(draw("title", {}, `${r.name} (${r.by})`));
      dots.set(r, dot);
      dot.style.display = wanted(r) ? "" : "none";
      f.plot.append(dot);
    });
    f.node.prepend(clip);
    return f.node;
  };
  filtered.push(() => dots.forEach((dot, row) => {
    dot.style.display = wanted(row) ? "" : "none";
  }));
  const kinds = unique(rows.map((r) => (OWN.includes(r.by) ? r.by : "other")));
  const shapes = kinds.map((k) => ({ shape: k,
    name: k === "other" ? unique(rows.map((r) => r.by)).filter((b) => !OWN.includes(b))
      .join(", ") : k }));
  const colours = series.map((s, i) => ({ colour: colour(i), name: s.name }));
  const left = allRows.length - rows.length;
  return section("roofline", "Roofline",
    el("p", {}, "Each dot is a case. The lines are the measured peaks: bandwidth on the ",
      "left, arithmetic on the right. Data that stays in a cache can lie above them.",
      left ? ` Without GFLOP/s or GB/s and so without a dot: ${plural(left, "row")}.` : ""),
    chart(make), readout, legend([...(series.length > 1 ? colours : []), ...shapes]));
}

/* ---- side by side ---- */

function fastest(rows, name) {
  const mine = rows.filter((r) => r.name === name && wanted(r));
  const own = mine.filter((r) => OWN.includes(r.by));
  return (own.length ? own : mine).reduce((a, b) => (a && a.ms <= b.ms ? a : b), null);
}

/* Shows a column for each device: its time, and a bar relative to the fastest. */
function sideBySide() {
  const names = unique(allRows.map((r) => r.name));
  const holder = el("div");
  const column = (s) => ({
    name: s.name, number: true, of: (one) => (one.best.get(s) ? one.best.get(s).ms : NaN),
    text: (one) => (one.best.get(s) ? digits(one.best.get(s).ms) : ""),
    show: (one) => {
      const row = one.best.get(s);
      if (!row) return "";
      const part = (100 * one.least) / row.ms;
      return el("span", { class: row.ms === one.least ? "part best" : "part",
        style: `--part:${part.toFixed(1)}%` }, digits(row.ms));
    },
  });
  filtered.push(() => {
    const rows = names.map((name) => {
      const best = new Map(series.map((s) => [s, fastest(s.rows, name)]));
      const times = [...best.values()].filter(Boolean).map((r) => r.ms);
      return { name, best, least: Math.min(...times), count: times.length };
    }).filter((one) => one.count > 1);
    const table = new Table("devices-table", [{ name: "Case",
      of: (one) => one.name, show: (one) => breakable(one.name) }, ...series.map(column)], rows);
    table.filter(() => true);
    holder.replaceChildren(table.node);
  });
  return section("devices", "Side by side",
    el("p", {}, "Median milliseconds of the faster of tile and group. A full bar is the ",
      "fastest of the case."), holder);
}
