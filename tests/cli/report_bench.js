// report_bench.js - sorts, filters and copies on the page of a.json and b.json of report.sh
const names = (id) => $$(`#${id} tbody tr:not([hidden]):not(.details)`)
  .map((tr) => tr.cells[0].textContent);
const press = (id, column) => $$(`#${id} thead button`)
  .find((b) => b.textContent.startsWith(column)).click();
const cells = (id, n) => $$(`#${id} tbody tr:not([hidden])`).map((tr) => tr.cells[n].textContent);
const type = (words) => {
  $("#words").value = words;
  $("#words").dispatchEvent(new Event("input"));
};
const falling = (list) => list.every((x, i) => !i || list[i - 1] >= x);

check("title", document.title.startsWith("a.json, b.json"));
check("sections", $$("nav a").length === 6);
check("all rows", names("cases-table").length === 30 && $("#count").textContent === "30 of 30 rows");
check("machines", $$(".card").length === 2 && $(".card").textContent.includes("clattn bench --json a.json"));
check("a dot a case", $$("#roofline svg .dot").length === 30 && $$(".roof").length === 2);
check("a tick a sample",
  $("#cases-table .tick").getAttribute("d").split("M").length - 1 === 20);

// ---- sorting
press("cases-table", "Median");
check("numbers begin with the largest", falling(cells("cases-table", 3).map(Number)));
check("and it is not the order of texts", names("cases-table")[0] === "op_7 fwd T7");
press("cases-table", "Median");
check("again: the smallest", falling(cells("cases-table", 3).map(Number).reverse()));
check("said to readers", $("#cases-table th[aria-sort=ascending]").textContent === "Median ms");
press("cases-table", "Case");
check("texts begin with the first", names("cases-table")[0] === "op_0 fwd T0");
press("compare-B-table", "A/B");
check("ratios", falling(cells("compare-B-table", 4).map(Number)));

// ---- filtering
type("OP_3 t3 group");
check("words in any order", names("cases-table").join() === "op_3 fwd T3,op_3 fwd T3");
check("counted", $("#count").textContent === "2 of 30 rows");
check("dots follow", $$("#roofline svg .dot").filter((d) => d.style.display !== "none")
  .filter((d) => d.closest(".chart")).length === 2);
type("fwd");
$("select[data-key=suite]").value = "odd";
$("select[data-key=suite]").dispatchEvent(new Event("change"));
check("a suite", names("cases-table").length === 14 && names("compare-B-table").length === 3);
const shown = $("#compare-B .lead").textContent;
check("the mean is of what is shown", shown.includes("of 3 cases"));
check("side by side follows", names("devices-table").length === 3);
type("nothing is called so");
check("nothing", names("cases-table").length === 0 && !$("#cases-table .empty").hidden);
$("select[data-key=suite]").value = "";
$("select[data-key=suite]").dispatchEvent(new Event("change"));
type("");
check("all again", names("cases-table").length === 30);
const ratios = data.compare[0].with.cases.map((c) => c.ratio);
check("the mean of all is that of the program", $("#compare-B .lead").textContent
  .includes(` ${data.compare[0].with.mean.toFixed(3)} times`) && ratios.length === 7);

// ---- details, Markdown, raw data
$("#cases-table .opener").click();
check("details", $$("tr.details").length === 1 && $$("tr.details circle").length === 20);
$("#cases-table .opener").click();
check("closed", $$("tr.details").length === 0);
$("#roofline svg .dot").dispatchEvent(new Event("click"));
check("a dot opens its row", $$("tr.details").length === 1);
type("op_1");
const markdown = casesTable.markdown().trim().split("\n");
check("Markdown has what is shown", markdown.length === 6 &&
  markdown[0].startsWith("| Case | File | By | Median ms |") &&
  markdown[1].startsWith("| --- | --- | --- | ---: |") &&
  markdown.every((l) => l.split("|").length === markdown[0].split("|").length));
check("bars and pipes", escapeMarkdown("a|b\\c<d\ne") === "a\\|b\\\\c\\<d e");
$("#cases .tools .copy").click();
check("copied", copied.trim() === markdown.join("\n"));
const raw = $("#raw details");
raw.open = true;
rawToggled(raw);
function rawToggled(node) {
  node.dispatchEvent(new Event("toggle"));
  const lines = node.querySelector("pre").textContent.trim().split("\n");
  check("raw data", lines.length === 14 && JSON.parse(lines[3]).provider === "group");
}
check("no wider than the window", document.documentElement.scrollWidth <= innerWidth);
check("numbers", digits(0.000123456) === "0.0001235" && digits(1234567) === "1234567" &&
  digits(1.5) === "1.500" && digits(NaN) === "" && digits(0) === "0");
