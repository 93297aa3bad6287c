/* table.js - tables that sort, hide rows and copy themselves as Markdown.
 *
 * A column is { name, of(row), show(row), text(row), number, note, narrow }. of() is
 * the value that sorts; show() the cell (default: text); text() what Markdown gets
 * (default: of), or false to leave the column out; number aligns to the right; narrow:
 * false hides the column in narrow windows. */

function byValue(a, b) {
  const none = (x) => x === undefined || x === null || x === "" || Number.isNaN(x);
  if (none(a) || none(b)) return none(a) - none(b);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

function cellText(column, row) {
  const value = column.text ? column.text(row) : column.of(row);
  return typeof value === "number" ? digits(value) : text(value);
}

function escapeMarkdown(value) {
  return value.replace(/[\\|<]/g, "\\$&").replace(/\s+/g, " ");
}

class Table {
  constructor(id, columns, rows) {
    this.columns = columns;
    this.rows = rows;
    this.sorted = null;
    this.body = el("tbody");
    this.lines = new Map(rows.map((row) => [row, this.line(row)]));
    this.heads = columns.map((c) => this.head(c));
    this.empty = el("p", { class: "empty", hidden: true }, "No row matches the filter.");
    this.body.append(...this.lines.values());
    this.node = el("div", { class: "table", id },
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": id },
        el("table", {}, el("thead", {}, el("tr", {}, this.heads)), this.body)),
      this.empty,
      el("p", { class: "tools" }, copyButton("Copy as Markdown", () => this.markdown())));
  }

  classes(column) {
    const list = [column.number && "number", column.narrow === false && "wide"];
    return list.filter(Boolean).join(" ") || null;
  }

  head(column) {
    const button = el("button", {
      type: "button", title: column.note, onclick: () => this.sort(column),
    }, breakable(column.name));
    return el("th", { scope: "col", class: this.classes(column),
      "data-name": column.name }, button);
  }

  line(row) {
    return el("tr", {}, this.columns.map((c) => {
      const shown = c.show ? c.show(row) : cellText(c, row);
      return el("td", { class: this.classes(c) }, shown);
    }));
  }

  /* Sorts by a column; the same again reverses the order. Numbers begin descending. */
  sort(column) {
    const again = this.sorted && this.sorted.column === column;
    const down = again ? !this.sorted.down : Boolean(column.number);
    const sign = down ? -1 : 1;
    const last = (x) => byValue(column.of(x), undefined) === 0;
    this.sorted = { column, down };
    this.rows = [...this.rows].sort((a, b) =>
      last(a) || last(b) ? last(a) - last(b)
        : sign * byValue(column.of(a), column.of(b)));
    this.body.replaceChildren(...this.rows.map((row) => this.lines.get(row)));
    this.heads.forEach((head, i) => {
      const mine = this.columns[i] === column;
      if (mine) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    if (this.onsort) this.onsort();
  }

  filter(keep) {
    for (const [row, line] of this.lines) line.hidden = !keep(row);
    this.empty.hidden = this.shown().length > 0;
  }

  shown() {
    return this.rows.filter((row) => !this.lines.get(row).hidden);
  }

  markdown() {
    const columns = this.columns.filter((c) => c.text !== false);
    const line = (cells) => `| ${cells.join(" | ")} |`;
    const rows = this.shown().map((row) =>
      line(columns.map((c) => escapeMarkdown(cellText(c, row)))));
    return [line(columns.map((c) => escapeMarkdown(c.name))),
      line(columns.map((c) => (c.number ? "---:" : "---"))), ...rows, ""].join("\n");
  }
}
