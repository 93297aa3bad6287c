/* main.js - puts the page together. */

function notes() {
  if (!data.notes.length) return [];
  return [el("section", { id: "notes", class: "notes" }, el("h2", {}, "Notes"),
    el("ul", {}, data.notes.map((note) => el("li",
      { class: note.left_out ? "left-out" : null },
      note.left_out ? el("strong", {}, "Left out: ") : null, note.text))))];
}

/* Shows the rows as JSON Lines, which are in the page only while they are open. */
function rawFile(file, lines) {
  const content = () => lines.map((l) => JSON.stringify(l) + "\n").join("");
  const pre = el("pre", { tabindex: 0 });
  const open = (e) => {
    pre.textContent = e.currentTarget.open ? content() : "";
  };
  return el("details", { class: "raw", ontoggle: open },
    el("summary", {}, file, ` (${plural(lines.length, "line")})`),
    el("p", { class: "tools" }, copyButton("Copy JSON", content)), pre);
}

function raw() {
  return section("raw", "Raw data",
    el("p", {}, "The lines of the files that this page shows."),
    data.bench.map((f) => rawFile(f.file, f.rows)),
    data.verify.map((f) => rawFile(f.file, f.rows)),
    data.runs.map((r) => rawFile(r.file, r.log)));
}

function contents(parts) {
  const named = parts.filter((part) => part.tagName === "SECTION");
  return named.map((part) => el("a", { href: `#${part.id}` },
    part.querySelector("h2").textContent));
}

function about() {
  const lines = [allRows.length &&
    `${plural(allRows.length, "row")} of ${plural(bench.length, "result")}`,
  checkRows.length && plural(checkRows.length, "run of a check", "runs of checks"),
  runs.length && plural(runs.length, "training run")].filter(Boolean);
  return lines.join(", ");
}

function start() {
  const parts = [...notes(), ...verifySections(), ...benchSections(), ...runSections(), raw()];
  const names = [...checkNames, ...[...bench, ...runs].map((f) => f.name)];
  document.title = `${names.slice(0, 4).join(", ")} - clattn report`;
  document.getElementById("about").textContent = about();
  document.getElementById("main").append(...parts);
  document.getElementById("contents").append(...contents(parts));
  document.getElementById("foot").append(el("p", {}, "Written by clattn ", data.version,
    data.commit ? ` (${data.commit})` : "", ": "), el("code", {}, data.command));
  applyFilter();
  redraw();
}

start();
addEventListener("resize", () => redraw());
addEventListener("beforeprint", () => redraw(700));
addEventListener("afterprint", () => redraw());
