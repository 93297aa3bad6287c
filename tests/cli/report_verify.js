// report_verify.js - three runs that are right and one that is not, on two devices
const lines = $$("#verify-table tbody tr").map((tr) => [...tr.cells].map((c) => c.textContent));
check("all runs", lines.length === 4);
check("the failed one first", lines[0][0] === "two" && lines[0].includes("FAILED") &&
  lines[0].includes("<b>no</b> such attribute") && !$("#verify-table b"));
check("devices by their places", lines[0].includes("1: X") && lines[1].includes("0: X"));
check("their sum", $("#verify .lead").textContent === "4 runs of 2 cases on 2 devices, 1 failed");
check("beside results", $("#machines") && $("#about").textContent.startsWith("14 rows of 1 result, 4 runs of checks"));
