// report_check.js - checks of a page, and their outcome at the page's end, for report.sh
"use strict";
const $ = (s) => document.querySelector(s);
const $$ = (s) => [...document.querySelectorAll(s)];
const wrong = [];
let checks = 0;

function check(what, truth) {
  checks++;
  if (!truth) wrong.push(what);
}

function checked(run) {
  try {
    run();
  } catch (error) {
    wrong.push(String(error));
  }
  document.body.append(`RESULT ${checks} checks: ${wrong.join("; ") || "fine"} END`);
}
