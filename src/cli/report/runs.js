/* runs.js - training runs: curves, scores, settings that differ, pictures. */

const runNames = shortNames(data.runs.map((r) => r.file.replace(/\/log\.jsonl$/, "")));
const runs = data.runs.map((r, i) => ({
  name: runNames[i], path: r.file, maps: r.maps,
  config: new Map(Object.entries(r.config || {}).filter(([k]) => k !== "integrity")),
  losses: r.log.filter((l) => !("verdict" in l)),
  scores: r.log.filter((l) => "verdict" in l),
}));

function keysOf(lines) {
  const skipped = ["step", "epoch", "verdict"];
  return unique(lines.flatMap((l) => Object.keys(l).filter((k) =>
    !skipped.includes(k) && Number.isFinite(number(l[k])))));
}

/* ---- curves ---- */

/* Returns the line nearest to a step. */
function nearest(lines, step) {
  return lines.reduce((a, b) =>
    (a && Math.abs(a.step - step) <= Math.abs(b.step - step) ? a : b), null);
}

function drawCurves(width, all, key, readout) {
  const points = all.map((run) => run.lines.filter((l) => Number.isFinite(number(l[key]))));
  const steps = points.flat().map((l) => l.step);
  const [low, high] = range(points.flat().map((l) => l[key]));
  const most = Math.max(1, ...steps);
  const f = frame({ width, height: width < 500 ? 260 : 320,
    x: { low: 0, high: most, label: "steps" }, y: { low, high, label: key } });
  points.forEach((lines, i) => {
    const d = lines.map((l, j) => `${j ? "L" : "M"}${f.x(l.step).toFixed(1)} ` +
      f.y(l[key]).toFixed(1)).join("");
    f.plot.append(draw("path", { class: "curve", stroke: colour(i),
      "stroke-dasharray": dashes(i), d }));
    if (lines.length > 60) return;
    f.plot.append(...lines.map((l) => draw("circle", { cx: f.x(l.step), cy: f.y(l[key]),
      r: 3, fill: colour(i) }, draw("title", {}, `${all[i].name}, step ${l.step}: ` +
        digits(l[key], 6)))));
  });
  f.node.addEventListener("pointermove", (e) => {
    const where = f.node.getBoundingClientRect();
    const at = ((e.clientX - where.left) * width) / where.width;
    const step = ((at - f.box.left) / (f.box.right - f.box.left)) * most;
    readout.textContent = points.map((lines, i) => {
      const l = nearest(lines, step);
      return l && `${all[i].name} ${digits(l[key])} at step ${l.step}`;
    }).filter(Boolean).join("; ");
  });
  return f.node;
}

function curves(id, title, of, preferred) {
  const all = runs.map((run) => ({ name: run.name, lines: of(run) }));
  const keys = keysOf(all.flatMap((run) => run.lines));
  if (!keys.length) return null;
  let key = keys.includes(preferred) ? preferred : keys[0];
  const readout = el("p", { class: "readout" });
  const picture = chart((width) => drawCurves(width, all, key, readout));
  const select = el("select", { id: `${id}-key`,
    onchange: (e) => { key = e.target.value; readout.textContent = ""; redraw(); } },
  keys.map((k) => el("option", { value: k, selected: k === key }, k)));
  return section(id, title,
    keys.length > 1 ? el("form", { class: "filter" }, el("label", {}, "Show", select)) : null,
    picture, readout, runLegend());
}

function runLegend() {
  return legend(runs.map((run, i) => ({ colour: colour(i), dashes: dashes(i),
    name: run.name })));
}

/* ---- scores ---- */

function bestOf(run) {
  const best = run.scores.filter((l) => l.verdict === "new best");
  return best[best.length - 1] || run.scores[run.scores.length - 1] || {};
}

function median(list) {
  const sorted = list.filter(Number.isFinite).sort((a, b) => a - b);
  const at = (sorted.length - 1) / 2;
  return sorted.length ? (sorted[Math.floor(at)] + sorted[Math.ceil(at)]) / 2 : NaN;
}

function lastStep(run) {
  return Math.max(...[...run.losses, ...run.scores].map((l) => l.step));
}

function scores() {
  const keys = keysOf(runs.flatMap((run) => run.scores));
  const speed = (run) => median(run.losses.map((l) => number(l.units_per_s)));
  const table = new Table("scores-table", [
    { name: "Run", of: (run) => run.name },
    ...keys.map((k) => ({ name: k, number: true, of: (run) => number(bestOf(run)[k]) })),
    { name: "Best at step", number: true, of: (run) => number(bestOf(run).step),
      text: (run) => text(bestOf(run).step) },
    { name: "Steps", number: true, of: lastStep, text: (run) => String(lastStep(run)) },
    { name: "Last loss", number: true, narrow: false,
      of: (run) => number((run.losses[run.losses.length - 1] || {}).loss) },
    { name: "Units per s", number: true, of: speed, narrow: false,
      note: "Median over the log: words, pieces or questions, as the task counts" },
  ], runs);
  return section("scores", "Scores", el("p", {}, "The best evaluation of each run."),
    table.node);
}

/* ---- settings ---- */

function settingsTable(id, keys) {
  return new Table(id, [
    { name: "Setting", of: (k) => k },
    ...runs.map((run) => ({ name: run.name,
      of: (k) => (run.config.has(k) ? text(run.config.get(k)) : "") })),
  ], keys).node;
}

function settings() {
  const keys = unique(runs.flatMap((run) => [...run.config.keys()]));
  const known = runs.filter((run) => run.config.size);
  if (!keys.length) return null;
  const differs = (k) => unique(known.map((run) => text(run.config.get(k)))).length > 1;
  const some = keys.filter(differs);
  const all = el("details", { id: "all-settings" },
    el("summary", {}, `All ${plural(keys.length, "setting")}`),
    settingsTable("settings-table", keys));
  return section("settings", known.length > 1 ? "Settings that differ" : "Settings",
    some.length ? settingsTable("differ-table", some)
      : known.length > 1 ? el("p", {}, "The runs have the same settings.") : null, all);
}

/* ---- pictures ---- */

/* Shows the pictures. As the source of an image they run no script and load nothing. */
function pictures() {
  const all = runs.flatMap((run) => run.maps.map((map) => ({ run: run.name, ...map })));
  if (!all.length) return null;
  const source = (svg) => "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
  return section("maps", "Attention maps", all.map((map) => el("figure", {},
    el("img", { src: source(map.svg), alt: `${map.name} of ${map.run}` }),
    el("figcaption", {}, `${map.run}: ${map.name}`))));
}

function runSections() {
  if (!runs.length) return [];
  return [scores(), curves("score-curves", "Scores over the run", (run) => run.scores),
    curves("losses", "Loss", (run) => run.losses, "loss"), settings(), pictures()]
    .filter(Boolean);
}
