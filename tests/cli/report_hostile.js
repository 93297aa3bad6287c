// report_hostile.js - texts that would be a script or an image stay texts
const bomb = "<\/script><script>window.hacked=1<\/script><img src=x onerror=\"window.hacked=1\"> $& -->";
check("no script of theirs ran", window.hacked === undefined);
check("no element of theirs", $$("img").length === 0);
check("the case is shown", $("#cases-table tbody td").textContent === `${bomb}op_0 fwd T0`);
check("the file's name is shown", $(".card h3").textContent.includes("<img src=x onerror=alert(1)>'\".json"));
check("in Markdown too", casesTable.markdown().includes("\\<" + "/script>"));
$("#cases-table .opener").click();
check("details", $("tr.details").textContent.includes(bomb) && $$("img").length === 0);
check("prototypes are as before", {}.polluted === undefined);
$$("#raw details").forEach((node) => { node.open = true; node.dispatchEvent(new Event("toggle")); });
check("raw data", $("#raw pre").textContent.includes("\\\"window.hacked=1\\\""));
check("still no element", $$("img").length === 0 && window.hacked === undefined);
