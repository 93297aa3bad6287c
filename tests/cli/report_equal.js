// report_equal.js - two equal devices in A, one of them and another one in B
const cards = $$(".card").map((card) => card.textContent);
check("a card a device", cards.length === 4);
check("named by their places", cards[0].includes("X (device 0)") && cards[1].includes("X (device 1)"));
const head = $$("#devices-table thead button").map((b) => b.textContent);
check("a column a device", head.join() === "Case,A X (device 0),A X (device 1),B X,B Y");
check("each with itself", $$("#compare-B-table tbody tr").length === 3 &&
  $("#compare-B").textContent.includes("3 only in A, 3 only in B"));
check("rows say that they were verified",
  $$("#cases-table thead button").some((b) => b.textContent === "Verified") &&
  cards[0].includes("6 of 6 rows"));
check("no warning and no note", !$(".warning") && !$("#cases").textContent.includes("above 100 %"));
