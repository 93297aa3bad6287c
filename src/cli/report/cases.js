/* cases.js - results as tables: A against B, and every case with every sample. */

/* ---- A against B ---- */

function verdictCounts(list) {
  return ["faster", "slower", "same", "unsure"].map((v) => el("span", { class: `chip ${v}` },
    `${list.filter((c) => c.verdict === v).length} ${v}`));
}

function summary(list) {
  const mean = geometricMean(list.map((c) => c.ratio));
  return `B is ${mean.toFixed(3)} times as fast as A: geometric mean of ` +
    plural(list.length, "case");
}

function comparison(one) {
  const a = bench[0], b = bench[one.b];
  const list = one.with.cases.map((c) => ({ ...c, a: a.rows[c.a], b: b.rows[c.b] }));
  const ends = list.flatMap((c) => (c.interval || []).concat(c.ratio));
  const most = Math.min(20, Math.max(1.2, ...ends.map((x) => Math.max(x, 1 / x))));
  const place = (c) => unique([c.a.device, c.b.device]).join(", ");
  const devices = one.with.by_device && unique(list.map(place)).length > 1
    ? [{ name: "Device", of: place, narrow: false }] : [];
  const both = (c) => (c.a.by === c.b.by ? c.a.by : `${c.a.by}, ${c.b.by}`);
  const table = new Table(`compare-${b.letter}-table`, [
    { name: "Case", of: (c) => c.a.name, show: (c) => breakable(c.a.name) },
    ...devices,
    { name: "By", of: both, narrow: false },
    { name: `${a.letter} ms`, number: true, of: (c) => c.a.ms, narrow: false },
    { name: `${b.letter} ms`, number: true, of: (c) => c.b.ms, narrow: false },
    { name: "A/B", number: true, of: (c) => c.ratio, text: (c) => c.ratio.toFixed(2),
      note: "How many times as fast B is" },
    { name: "95 % interval", of: (c) => (c.interval ? c.interval[0] : NaN),
      text: (c) => (c.interval ? c.interval.map((x) => x.toFixed(2)).join(" to ") : ""),
      show: (c) => whisker(c, most) },
    { name: "Verdict", of: (c) => c.verdict,
      show: (c) => el("span", { class: `chip ${c.verdict}` }, c.verdict) },
  ], list);
  const said = el("p", { class: "lead" }), counts = el("p", {});
  const only = [one.with.only_a && `${one.with.only_a} only in A`,
    one.with.only_b && `${one.with.only_b} only in ${b.letter}`].filter(Boolean).join(", ");
  filtered.push(() => {
    table.filter((c) => wanted(c.a) || wanted(c.b));
    const shown = table.shown();
    const line = shown.length ? summary(shown).replace("B is", `${b.letter} is`) : "";
    said.textContent = list.length ? line : one.with.by_device
      ? "The files have no case of one device in common."
      : "The files have no case in common.";
    counts.replaceChildren(...verdictCounts(shown),
      only ? el("span", { class: "chip" }, only) : "");
  });
  return section(`compare-${b.letter}`, `${b.letter} against ${a.letter}`,
    el("p", {}, `A is ${a.name}, ${b.letter} is ${b.name}.`), said, counts, table.node,
    el("p", { class: "fine" }, "A ratio above 1: ", `${b.letter} is faster. The band is 5 % `,
      "to both sides. The interval of the ratio comes from the samples of both files; drift ",
      "of the machine between the two runs is not in it (",
      el("code", {}, "clattn bench compare --run"), " measures that). The verdict is ",
      "that of ", el("code", {}, "clattn bench compare"), "."));
}

/* ---- all cases ---- */

/* Draws the samples in the order in which they were measured. */
function timeline(row) {
  return chart((width) => {
    const [low, high] = range(row.samples);
    const f = frame({ width, height: 220,
      x: { low: 0, high: row.samples.length + 1, label: "sample" },
      y: { low, high, label: "ms" } });
    const line = (ms, kind) => f.plot.append(draw("path", { class: kind,
      d: `M${f.box.left} ${f.y(ms)}H${f.box.right}` }));
    [row.p25, row.p75].forEach((ms) => line(ms, "quartile"));
    line(row.ms, "median");
    f.plot.append(...row.samples.map((ms, i) => draw("circle", { class: "dot", r: 3.5,
      cx: f.x(i + 1), cy: f.y(ms), fill: colour(seriesOf(row)) },
    draw("title", {}, `${digits(ms, 5)} ms`))));
    return f.node;
  });
}

function details(row, columns) {
  const skipped = ["samples_ms", "suite", "case"];
  const keys = Object.keys(row.raw).filter((k) => !skipped.includes(k));
  const plot = row.samples.length ? timeline(row) : null;
  const value = (v) => (Number.isInteger(v) || typeof v !== "number" ? text(v)
    : digits(v, 6));
  const node = el("tr", { class: "details" }, el("td", { colspan: columns },
    el("div", { class: "inside" }, plot,
      el("dl", {}, keys.map((k) => [el("dt", {}, k), el("dd", {}, value(row.raw[k]))])),
      row.samples.length ? el("p", { class: "fine" }, "Samples in ms: ",
        row.samples.map((ms) => digits(ms, 5)).join(" ")) : null)));
  return node;
}

let casesTable = null;

/* Shows or hides the details below a row. */
function toggleRow(row, open) {
  const line = casesTable.lines.get(row);
  const below = line.nextElementSibling;
  const there = below && below.classList.contains("details");
  if (there && !open) below.remove();
  if (!there) line.after(details(row, casesTable.columns.length));
  line.querySelector("button").setAttribute("aria-expanded", String(!there || Boolean(open)));
  redraw();
}

function openRow(row) {
  const line = casesTable.lines.get(row);
  toggleRow(row, true);
  line.scrollIntoView({ block: "center" });
  line.querySelector("button").focus();
}

function closeRows() {
  casesTable.node.querySelectorAll("tr.details").forEach((line) => line.remove());
  casesTable.node.querySelectorAll("[aria-expanded]")
    .forEach((b) => b.setAttribute("aria-expanded", "false"));
}

/* Explains shares of a peak above 100 %, which look like errors. */
function aboveNote() {
  const above = allRows.filter((r) => r.share > 100).length;
  return above ? el("p", { class: "fine" }, `${plural(above, "row")} above 100 % of the `,
    "measured peak: data that stay in a cache move faster than the memory, a kernel may ",
    "compute less than the formula counts, or other work ran while the peak was measured.")
    : null;
}

/* Returns "yes", "no", or "" for files of older versions, which do not tell. */
function verified(row) {
  return "verified" in row.raw ? (row.raw.verified === true ? "yes" : "no") : "";
}

/* Returns the distance from the median at the ends of sample strips, 0.05 to 0.5: the
 * farthest sample of nine in ten rows fits. */
function stripRange() {
  const far = allRows.filter((r) => r.samples.length).map((r) =>
    Math.max(...r.samples.map((ms) => Math.abs(ms / r.ms - 1)))).sort((a, b) => a - b);
  const most = far[Math.floor(far.length * 0.9)] || 0.1;
  return Math.min(0.5, Math.max(0.05, Math.ceil(most * 20) / 20));
}

function casesSection() {
  const most = stripRange();
  const opener = (r) => el("button", { type: "button", class: "opener",
    "aria-expanded": "false", onclick: () => toggleRow(r) }, breakable(r.name));
  const several = (values, column) => (unique(values).length > 1 ? [column] : []);
  casesTable = new Table("cases-table", [
    { name: "Case", of: (r) => r.name, show: opener },
    ...several(allRows.map((r) => r.file), { name: "File", of: (r) => bench[r.file].letter }),
    ...several(allRows.map((r) => r.device), { name: "Device", of: (r) => r.device,
      narrow: false }),
    { name: "By", of: (r) => r.by },
    { name: "Median ms", number: true, of: (r) => r.ms },
    { name: "Spread", number: true, of: (r) => r.spread, text: (r) => percent(r.spread),
      note: "Interquartile range in percent of the median", narrow: false },
    { name: `Samples, ±\u00a0${Math.round(100 * most)}\u00a0%`, number: true, text: false,
      of: (r) => Math.max(...r.samples.map((ms) => Math.abs(ms / r.ms - 1))),
      show: (r) => strip(r, most), note: "Sorts by the sample farthest from the median" },
    { name: "GFLOP/s", number: true, of: (r) => r.gflops || NaN, narrow: false },
    { name: "GB/s", number: true, of: (r) => r.gbs || NaN, narrow: false },
    { name: "Peak share", number: true, of: (r) => r.share || NaN, show: (r) => bar(r.share),
      text: (r) => percent(r.share || NaN), narrow: false },
    ...(allRows.some(verified) ? [{ name: "Verified", of: verified, narrow: false,
      note: "The result was checked before it was timed (--verify)" }] : []),
  ], allRows);
  casesTable.onsort = closeRows;
  filtered.push(() => { closeRows(); casesTable.filter(wanted); });
  return section("cases", "All cases",
    el("p", {}, "Each tick is a sample, by its distance from the row's median. The band is ",
      "the 95 % interval of the median, or the middle half where a file has no samples. ",
      "Press a case for its details, a heading to sort."), aboveNote(), casesTable.node);
}

/* ---- all sections ---- */

function benchSections() {
  if (!allRows.length) return [];
  const parts = [section("machines", "Machines", el("div", { class: "cards" },
    series.map(machine))), filterBar()];
  if (allRows.some((r) => r.gflops > 0 && r.gbs > 0)) parts.push(roofline());
  parts.push(...data.compare.map(comparison));
  if (series.length > 1) parts.push(sideBySide());
  parts.push(casesSection());
  return parts;
}
