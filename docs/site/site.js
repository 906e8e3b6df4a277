"use strict";

// Search over the passages in words.js, which is loaded at the first search. Every term must be
// the beginning of a word in the passage, its heading or its page's title.
const root = document.currentScript.dataset.root;
const ask = document.getElementById("ask");
const found = document.getElementById("found");
const most = 12; // results shown
const around = 70; // characters on each side of the first term

// On a narrow screen the contents are closed at first.
if (matchMedia("(max-width: 50rem)").matches) document.querySelector(".contents").removeAttribute("open");

let loading;
function load() {
  loading ??= new Promise((done, failed) => {
    const s = document.createElement("script");
    s.src = root + "words.js";
    s.onload = done;
    s.onerror = () => failed(new Error("words.js is not beside the pages: make the site again"));
    document.head.append(s);
  });
  return loading;
}

const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}@.=_-]*[\p{L}\p{N}]/gu) ?? [];

// score returns 0 if a term is missing. A term in the heading counts more than a term in the
// page's title, which counts more than a term in the text.
function score(entry, terms) {
  entry.words ??= { h: wordsOf(entry.h), p: wordsOf(entry.p), t: wordsOf(entry.t) };
  let sum = 0;
  for (const term of terms) {
    const has = (list) => list.some((w) => w.startsWith(term) || w.split(/[-.=@_]/).some((part) => part.startsWith(term)));
    const here = 8 * has(entry.words.h) + 5 * has(entry.words.p) +
      (has(entry.words.t) ? 1 + Math.min(3, entry.words.t.filter((w) => w.startsWith(term)).length) : 0);
    if (here === 0) return 0;
    sum += here;
  }
  return sum;
}

// excerpt returns the part of a text with the first of the terms, and marks the terms.
function excerpt(text, terms) {
  const lower = text.toLowerCase();
  const places = terms.map((t) => lower.indexOf(t)).filter((i) => i >= 0);
  const from = places.length ? Math.max(0, Math.min(...places) - around) : 0;
  const cut = text.slice(from, from + 3 * around);
  const small = document.createElement("small");
  if (from > 0) small.append("…");
  for (let i = 0; i < cut.length; ) {
    const next = terms.map((t) => [cut.toLowerCase().indexOf(t, i), t.length]).filter(([k]) => k >= 0)
      .sort((a, b) => a[0] - b[0])[0];
    if (!next) { small.append(cut.slice(i)); break; }
    small.append(cut.slice(i, next[0]));
    const mark = document.createElement("mark");
    mark.append(cut.slice(next[0], next[0] + next[1]));
    small.append(mark);
    i = next[0] + next[1];
  }
  return small;
}

async function look() {
  const terms = wordsOf(ask.value);
  if (!terms.length) { found.hidden = true; return; }
  try {
    await load();
  } catch (err) {
    found.replaceChildren(Object.assign(document.createElement("p"), { textContent: err.message }));
    found.hidden = false;
    return;
  }
  const hits = window.words.map((e) => [score(e, terms), e]).filter(([s]) => s > 0)
    .sort((a, b) => b[0] - a[0]).slice(0, most);
  found.replaceChildren(...hits.map(([, e]) => {
    const a = document.createElement("a");
    a.href = root + e.u;
    const b = document.createElement("b");
    b.textContent = e.h === e.p ? e.p : `${e.p}: ${e.h}`;
    a.append(b, excerpt(e.t, terms));
    return a;
  }));
  if (!hits.length) found.append(Object.assign(document.createElement("p"), { textContent: "No passage has all of these words." }));
  found.hidden = false;
}

ask.addEventListener("input", look);
ask.addEventListener("focus", () => { load().catch(() => {}); if (ask.value) look(); });
ask.form.addEventListener("submit", (event) => { event.preventDefault(); found.querySelector("a")?.click(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/input|textarea|select/i.test(event.target.tagName)) { event.preventDefault(); ask.focus(); }
  if (event.key === "Escape") { found.hidden = true; ask.blur(); }
  if (!found.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    const all = [ask, ...found.querySelectorAll("a")];
    const k = all.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
    all[Math.max(0, Math.min(all.length - 1, k))].focus();
    event.preventDefault();
  }
});
document.addEventListener("click", (event) => { if (!found.contains(event.target) && event.target !== ask) found.hidden = true; });
