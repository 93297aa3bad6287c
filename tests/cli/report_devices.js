// report_devices.js - two devices of one file, side by side
const head = $$("#devices-table thead button").map((b) => b.textContent);
check("a column a device", head.join() === "Case,first device,second device");
check("a card a device", $$(".card").length === 2 && $$(".roof").length === 2);
const best = $$("#devices-table tbody tr").map((tr) =>
  [...tr.cells].findIndex((c) => c.querySelector(".best")));
// seed 3 changes a case by -30, 0 or 30 per cent, seed 1 by -10, 0 or 10
check("the fastest of each case", best[0] === 2 && best[2] === 1 && best[3] === 2);
$("select[data-key=device]").value = "first device";
$("select[data-key=device]").dispatchEvent(new Event("change"));
check("a device alone", $("#count").textContent === "10 of 20 rows" &&
  $$("#devices-table tbody tr").length === 0);
check("no comparison with itself", !$("#compare-B"));
