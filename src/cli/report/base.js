/* base.js - shared by all parts of the page: elements, numbers, names and copying. Text
 * of files becomes text nodes and attributes only, never HTML. */

const data = JSON.parse(document.getElementById("data").textContent);

/* Adds attributes and children; a key "on..." holds a function, null is left out. */
function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") {
      node.addEventListener(key.slice(2), value);
    } else if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(key, value === true ? "" : String(value));
    }
  }
  node.append(...children.flat(2).filter((c) => c !== null && c !== undefined));
  return node;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function draw(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return fill(node, attributes, children);
}

/* ---- numbers and texts ---- */

function number(value) {
  return typeof value === "number" && Number.isFinite(value) ? value : NaN;
}

function text(value) {
  return typeof value === "string" ? value
    : value === undefined || value === null ? "" : JSON.stringify(value);
}

/* Formats a number with n significant digits, or all digits of a longer integer part.
 * Only values below 1e-4 and from 1e7 on get an exponent. */
function digits(value, n = 4) {
  if (!Number.isFinite(value)) return "";
  const size = Math.abs(value);
  if (size && (size >= 1e7 || size < 1e-4)) return value.toExponential(n - 1);
  const rounded = Number(value.toPrecision(n));
  const places = size ? Math.max(0, n - 1 - Math.floor(Math.log10(size))) : 0;
  return size >= 10 ** n ? value.toFixed(0) : rounded.toFixed(Math.min(places, 8));
}

/* Splits a name so that it may break after "_" and "+". */
function breakable(name) {
  return name.split(/(?<=[_+])/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));
}

function percent(value) {
  return Number.isFinite(value) ? value.toFixed(value < 10 ? 1 : 0) + " %" : "";
}

function bytes(value) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; value >= 1024 && i < units.length - 1; i++) value /= 1024;
  return Number.isFinite(value) ? `${digits(value, 3)} ${units[i]}` : "";
}

function plural(n, one, many) {
  return `${n} ${n === 1 ? one : many || one + "s"}`;
}

function unique(list) {
  return [...new Set(list)];
}

function geometricMean(list) {
  return Math.exp(list.reduce((sum, x) => sum + Math.log(x), 0) / list.length);
}

/* Returns the letter of a file on the page: A, B, ... Z, AA. */
function letter(i) {
  return (i < 26 ? "" : String.fromCharCode(64 + Math.floor(i / 26))) +
    String.fromCharCode(65 + (i % 26));
}

/* Returns the shortest ends of paths that tell them apart. */
function shortNames(paths) {
  const parts = paths.map((p) => p.replace(/\/+$/, "").split("/"));
  return parts.map((p, i) => {
    for (let n = 1; n <= p.length; n++) {
      const end = p.slice(-n).join("/");
      const same = (q, j) => j !== i && q.slice(-n).join("/") === end;
      if (!parts.some(same)) return end;
    }
    return paths[i];
  });
}

/* ---- copying ---- */

function copyByHand(content) {
  const area = el("textarea", { class: "offscreen" });
  area.value = content;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

let copied = ""; // the text copied last

async function copy(content, button) {
  const before = button.dataset.label || button.textContent;
  let done = true;
  button.dataset.label = before;
  copied = content;
  try {
    await navigator.clipboard.writeText(content);
  } catch (error) {
    done = copyByHand(content);
  }
  button.textContent = done ? "Copied" : "Cannot copy";
  setTimeout(() => { button.textContent = before; }, 1500);
}

/* Makes a button that copies the text that make() returns. */
function copyButton(label, make) {
  return el("button", {
    type: "button", class: "copy", onclick: (e) => copy(make(), e.currentTarget),
  }, label);
}

/* ---- sections ---- */

function section(id, title, ...children) {
  const heading = el("h2", {}, title);
  return el("section", { id }, heading, children);
}

/* Functions that draw the charts, each for a given width or the width of its node. */
const drawers = [];

function chart(make, attributes) {
  const node = el("div", { class: "chart", ...attributes });
  drawers.push((width) => {
    node.replaceChildren(make(Math.max(280, width || node.clientWidth || 800)));
  });
  return node;
}

function redraw(width) {
  drawers.forEach((drawer) => drawer(width));
}
