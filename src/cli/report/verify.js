/* verify.js - runs of `clattn verify': each case on each device, failed ones first. */

const checkNames = shortNames(data.verify.map((f) => f.file));
const checkRows = data.verify.flatMap((f, i) => f.rows.map((raw) => ({
  raw, file: checkNames[i], name: text(raw.case), op: text(raw.op),
  schedule: text(raw.schedule), ok: raw.ok === true, nmse: number(raw.nmse),
  most: number(raw.max_abs), said: text(raw.error) || text(raw.worst),
  device: Number.isInteger(raw.index) ? `${raw.index}: ${text(raw.device)}`
    : text(raw.device),
})));

function verifySections() {
  if (!checkRows.length) return [];
  const failed = checkRows.filter((r) => !r.ok).length;
  const devices = unique(checkRows.map((r) => r.device));
  const several = (list, column) => (list.length > 1 ? [column] : []);
  const table = new Table("verify-table", [
    { name: "Case", of: (r) => r.name, show: (r) => breakable(r.name) },
    { name: "Operator", of: (r) => r.op, narrow: false },
    { name: "Schedule", of: (r) => r.schedule },
    ...several(data.verify, { name: "File", of: (r) => r.file, narrow: false }),
    ...several(devices, { name: "Device", of: (r) => r.device }),
    { name: "Result", of: (r) => (r.ok ? "ok" : "FAILED"),
      show: (r) => el("span", { class: `chip ${r.ok ? "faster" : "slower"}` },
        r.ok ? "ok" : "FAILED") },
    { name: "NMSE", number: true, of: (r) => r.nmse,
      note: "Squared error over squared reference, of the worst tensor" },
    { name: "Max error", number: true, of: (r) => r.most, narrow: false },
    { name: "Worst", of: (r) => r.said, narrow: false },
  ], [...checkRows].sort((a, b) => a.ok - b.ok));
  return [section("verify", "Verification",
    el("p", { class: "lead" }, `${plural(checkRows.length, "run")} of ` +
      `${plural(unique(checkRows.map((r) => r.name)).length, "case")} on ` +
      `${plural(devices.length, "device")}, ${failed} failed`),
    devices.length > 1 ? null : el("p", {}, devices[0]), table.node)];
}
