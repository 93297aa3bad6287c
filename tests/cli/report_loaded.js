// report_loaded.js - load 18 on two processors, and shares above 100 %
const warnings = $$(".warning").map((p) => p.textContent);
check("a warning a card", warnings.length === 2 &&
  warnings[0] === "Warning: load 18.0 on 2 processors: other work is running (6 of 6 rows).");
check("shares are explained", $("#cases").textContent.includes("12 rows above 100 % of the measured peak"));
