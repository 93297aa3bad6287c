// report_runs.js - scores, curves and settings on the page of three runs of report.sh
const table = (id) => $$(`#${id} tbody tr`).map((tr) => [...tr.cells].map((c) => c.textContent));
const points = () => $$("#score-curves path.curve").map((p) => p.getAttribute("d").split(/[ML]/).length - 1);

check("sections", $$("section").map((s) => s.id).join() ===
  "notes,scores,score-curves,losses,settings,maps,raw");
check("notes", $$("#notes li").length === 2);
check("the best evaluation", table("scores-table")[1].slice(0, 5).join() === "two,82.00,9.000,30,50");
$$("#scores-table thead button").find((b) => b.textContent === "Steps").click();
check("sorts", table("scores-table").map((r) => r[0]).join() === "long,two,one");
check("a curve a run", points().join() === "4,5,410");
check("losses", $$("#losses path.curve")[2].getAttribute("d").split("L").length === 1368);
$("#score-curves-key").value = "words";
$("#score-curves-key").dispatchEvent(new Event("change"));
check("another key", $("#score-curves .label:last-child").textContent === "words");
check("dots", $$("#score-curves circle").length === 9);
check("settings that differ", table("differ-table").join(";") === "seed,1,2,3;attention,conv,conv2d,conv");
check("all settings", table("settings-table").length === 4);
check("a picture, and its script did not run", $$("#maps img").length === 1 &&
  $("#maps img").src.startsWith("data:image/svg+xml") && window.hacked === undefined);
check("no wider than the window", document.documentElement.scrollWidth <= innerWidth);
