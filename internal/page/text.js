// Elements and texts of the page.
export const el = kindredMap.el;
export const $ = id => document.getElementById(id);
export const number = n => n.toLocaleString("en");
export const count = (n, one = "item", many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;
export const short = v => typeof v === "number" ? +v.toPrecision(4) + "" : String(v);
// percent writes a probability without pretending certainty, as the program does.
export const percent = p => p < 0.001 ? "under 0.1\u00a0%" : p > 0.999 ? "over 99.9\u00a0%" : `${(100 * p).toFixed(p < 0.01 || p > 0.99 ? 1 : 0)}\u00a0%`;
export const clamp = (x, lo, hi) => Math.min(Math.max(x, lo), hi);
export const wait = ms => new Promise(done => setTimeout(done, ms));

// breakable returns a text that may break after slashes and the like.
export const breakable = text => text.split(/(?<=[/_.\\-])/).flatMap((part, i) => i ? [el("wbr"), part] : [part]);

// shorten maps texts to at most so many letters. A shortened text keeps its beginning and the place where it differs
// from the others, so that two texts never look equal.
export const shorten = (texts, most = 36) => {
  const all = [...new Set(texts)].sort().map(t => [...t]), shared = (a, b = []) => { let n = 0; while (n < a.length && a[n] === b[n]) n++; return n; };
  const pairs = all.map((letters, i) => {
    const text = letters.join("");
    if (letters.length <= most) return [text, text];
    const differs = Math.max(shared(letters, all[i - 1]), shared(letters, all[i + 1]));
    if (differs < most - 4) return [text, letters.slice(0, most - 1).join("") + "…"];
    const begins = i => /[\s/]/.test(letters[i - 1] ?? ""); // a word
    let head = 8;
    while (head > 4 && !begins(head)) head--;
    if (head === 4) head = 8;
    const room = most - head - 1;
    let from = differs; // the word that differs, if it is not too long
    while (!begins(from) && differs - from < room / 2) from--;
    if (letters.length - from <= room) { // more of what is before it
      for (let i = letters.length - room; i < from; i++) if (begins(i)) from = i;
    }
    const tail = letters.slice(from), end = tail.length <= room ? tail : [...tail.slice(0, room - 1), "…"];
    return [text, `${letters.slice(0, head).join("").trim()}…${end.join("").trim()}`];
  });
  const times = new Map();
  for (const [, s] of pairs) times.set(s, (times.get(s) ?? 0) + 1);
  return new Map(pairs.map(([text, s]) => [text, times.get(s) > 1 ? text : s]));
};

// csv writes rows as the commands do.
export const csv = kindredMap.csv;
export const save = kindredMap.save;
