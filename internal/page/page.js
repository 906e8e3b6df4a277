// The page of kindred serve.
import { $, count, el, number } from "./text.js";
import {
  address, arranged, asks, collectionOf, fail, go, itemPath, json, nameOf, narrowed, near, networkName, of, onChange, page, read, refresh as redraw, send, start, telling, term, words,
} from "./state.js";
import { columns, describeSorting, hang, list, shortenColumns } from "./found.js";
import { forgetPhoto, picture, showPhoto, withPicture } from "./photo.js";
import { answered, identify } from "./identify.js";
import { categories, describeCategories, hasCategories } from "./categories.js";
import { follow, key } from "./select.js";
import { describeEditing } from "./edit.js";
import { tellFollowing, watchFolder } from "./follow.js";
import { closeMapOf } from "./allitems.js";

const { ask, show } = kindredServer;

// What is no item's id is words, where the collection takes them; an id has a slash more often than words do.
const lookUp = async what => {
  const c = collectionOf();
  if (c.words && !what.includes("/")) {
    try { await ask(itemPath(what, "", c.name)); } catch (e) { if (e.status === 404) { go(words(what)); return; } }
  }
  go(near(what));
};
// The start keeps what can be undone: the page is not loaded again.
$("start").addEventListener("click", e => { if (page.info && !(e.ctrlKey || e.metaKey || e.shiftKey)) { e.preventDefault(); go(start); } });
$("byId").addEventListener("submit", e => { e.preventDefault(); if ($("id").value.trim()) lookUp($("id").value.trim()); });

// --- searching ---
const find = async (s, collection, path) => {
  const more = { k: +s.k, except_itself: true, ...(s.filter && { filter: s.filter }), ...arranged[s.arrange](collectionOf(collection)) };
  const post = body => send("POST", of(path, collection), { ...body, ...more });
  const upload = file => {
    const form = new FormData();
    form.set("image", file, "photo");
    for (const [name, value] of Object.entries(more)) form.set(name, value);
    return json(of(path, collection), { method: "POST", body: form });
  };
  if (s.picture) return withPicture(s, ({ picture, file }) => picture ? post({ picture }) : upload(file));
  if (s.text) { delete more.except_itself; return post({ text: s.text }); }
  if (collection !== s.collection) {
    // The other collection may know the item; if not, its picture is looked up.
    const there = await ask(itemPath(s.id, "", collection)).then(() => true, e => { if (e.status !== 404) throw e; });
    if (!there) return upload(await (await ask(itemPath(s.id, "/picture", s.collection))).blob());
  }
  return post({ id: s.id });
};

let asked = 0, why = false, before = "";
const explain = () => { why = true; redraw(); };
const refresh = async () => {
  const turn = ++asked, s = page.state, here = () => turn === asked;
  $("error").hidden = true;
  describe(s);
  query(s);
  $("further").hidden = true;
  $("status").textContent = "Looking …";
  try {
    await (s.view === "categories" && !asks(s) ? categories(s, here) : asks(s) ? results(s, here) : wall(s, here));
  } catch (e) {
    if (!here()) return;
    page.items = [];
    $("answer").replaceChildren();
    $("lists").replaceChildren();
    $("status").textContent = "";
    fail(e);
    if (e.status === 404 && s.id) try { await like(s, here); } catch (e) { fail(e); }
  }
  if (!here()) return;
  $("save").hidden = !page.items.length;
  follow();
};
const results = async (s, here) => {
  const names = [s.collection, ...(s.versus && s.versus !== s.collection ? [s.versus] : [])], two = names.length > 1;
  const [got, ...answers] = await Promise.all([identify(s).catch(e => e.status === 404 ? null : e), ...names.map(n => find(s, n, two || why ? "v1/explain" : "v1/search"))]);
  if (!here()) return;
  const sets = answers.map(a => new Set(a.neighbours.map(h => h.id))), there = document.querySelectorAll(".list:first-child .hit").length;
  shortenColumns([...answers.flatMap(a => a.neighbours), ...(answers[0].itself_labels ?? []).map(label => ({ columns: { label } }))]);
  $("answer").replaceChildren(...answered(s, got, answers[0]));
  $("lists").classList.toggle("two", two);
  $("lists").replaceChildren(...answers.map((a, i) => list(a, two, id => two && sets[1 - i].has(id), explain)));
  const n = answers[0].neighbours.length, all = page.info.limits.k;
  $("status").textContent = `${count(n, "neighbour")} among ${count(collectionOf(s.collection).items)}` +
    (s.filter ? `, those with ${s.filter}` : "") + (two ? `; ${[...sets[0]].filter(id => sets[1].has(id)).length} are found by both (framed)` : "");
  $("further").hidden = n < +s.k || +s.k >= all;
  $("more").hidden = false;
  $("others").hidden = true;
  const query = address({ k: "20" });
  if (before === query && there && there < n) document.querySelectorAll(".hit")[there]?.focus();
  before = "";
  $("more").onclick = () => { before = query; go({ k: String(Math.min(2 * s.k, all)) }, true); };
};
const put = (items, s) => {
  shortenColumns(items);
  let hits;
  [page.items, hits] = hang(items, s.collection);
  $("answer").replaceChildren();
  $("lists").classList.remove("two");
  $("lists").replaceChildren(el("div", { className: "list" }, hits));
};
// wall shows items that pass the filter, drawn by a seed, while there is no query.
const wall = async (s, here, items = [], after = "") => {
  const c = collectionOf(s.collection);
  const got = await json(of("v1/items", s.collection, { limit: s.k, ...(c.browse && { seed: s.seed }), ...(s.filter && { filter: s.filter }), ...(after && { after }) }));
  if (!here()) return;
  items = [...items, ...got.items];
  put(items, s);
  if (after) {
    document.querySelector(`.hit[data-id="${CSS.escape(got.items[0]?.id)}"]`)?.focus();
    follow();
  }
  const n = items.length, all = got.passed ?? (got.next ? undefined : n);
  const some = all === n ? "" : c.browse ? `${number(n)} of them, drawn at random` : `the first ${number(n)} by their ids`;
  const pass = all === undefined ? `Items${s.filter ? ` that pass ${s.filter}` : ""}` : s.filter ? `${number(all)} of ${count(c.items)} ${all === 1 ? "passes" : "pass"} ${s.filter}` : count(all);
  $("status").textContent = [pass, ...(some ? [some] : [])].join(": ") + (all === 0 ? "" : ". Choose one to see what is near it.");
  $("further").hidden = !got.next && !some;
  $("more").hidden = !got.next;
  $("more").onclick = () => wall(s, here, items, got.next).catch(fail);
  $("others").hidden = !c.browse || !some;
  $("others").onclick = () => go({ seed: String(+s.seed + 1) });
};
// like reports that no item has an id, and shows items with similar ids.
const like = async (s, here) => {
  $("query").hidden = true;
  const c = collectionOf(s.collection);
  fail(new Error(`No item of ${s.collection} is called “${s.id}”.`));
  const near = c.browse ? (await json(of("v1/items", s.collection, { like: s.id, limit: 12 }))).items : [];
  if (!here() || !near.length) return;
  $("status").textContent = "Items with a name like it:";
  put(near, s);
};
// query shows what is looked up.
let shownOf = "";
const query = async s => {
  if (s.picture) { shownOf = ""; showPhoto(s); return; }
  forgetPhoto();
  const what = s.id && `${s.collection} ${s.id}`, img = $("shown");
  let it;
  if (what !== shownOf) $("query").hidden = true;
  shownOf = what;
  if (!what) { $("query").hidden = true; return; }
  try { it = await json(itemPath(s.id, "", s.collection)); } catch { return; } // the search says it
  if (what !== shownOf) return;
  const name = nameOf(it), address = itemPath(s.id, "/picture", s.collection);
  $("of").replaceChildren(el("h2", { textContent: name, title: it.id }), ...(name === it.id ? [] : [el("p", { textContent: it.id })]), columns(it.columns));
  if (!$("query").hidden && img.dataset.of === what) return;
  img.dataset.of = what;
  $("cut").hidden = !it.path || !collectionOf(s.collection).uploads;
  $("query").hidden = false;
  picture(img, name);
  const none = img.onerror;
  // Browsers show no HEIC and few show JPEG XL and TIFF. The server makes a smaller JPEG of them.
  img.onerror = () => {
    img.onerror = none;
    $("cut").hidden = true;
    show(img, `${itemPath(s.id, "/thumbnail", s.collection)}&size=1024`);
  };
  if (it.path) show(img, address); else none();
};

// --- filters ---
$("filters").addEventListener("submit", e => { e.preventDefault(); go({ filter: $("filter").value.trim(), k: $("k").value, arrange: $("arrange").value }); });
for (const name of ["k", "arrange"]) $(name).addEventListener("change", () => go({ [name]: $(name).value }));
$("add").addEventListener("click", () => {
  const column = collectionOf().columns.find(c => c.name === $("column").value), text = $("value").value.trim();
  if (!column || !text) return;
  go(narrowed(term(column.name, $("op").value, column.kind === "text" ? text : column.kind === "bool" ? text === "true" : +text)));
});
// example shows a filter with the collection's own columns and values, and an id, as placeholders.
let exampleOf = "";
const example = async c => {
  if (exampleOf === c.name) return;
  exampleOf = c.name;
  $("filter").placeholder = $("id").placeholder = "";
  let items;
  try { items = (await json(of("v1/items", c.name, { limit: 20, ...(c.browse && { seed: 1 }) }))).items; } catch { return; } // the wall says it
  if (exampleOf !== c.name || !items.length) return;
  $("id").placeholder = items[0].id;
  const terms = [];
  for (const x of [...c.columns].filter(x => telling(x.name)).sort((a, b) => (b.name === c.label) - (a.name === c.label))) {
    const values = items.map(it => it.columns?.[x.name]).filter(v => v !== undefined && String(v).length <= 24).sort((a, b) => a < b ? -1 : +(a > b));
    if (values.length) terms.push(x.kind === "bool" ? term(x.name, "") : term(x.name, x.kind === "number" ? "<" : "=", values[values.length >> 1]));
  }
  $("filter").placeholder = terms.slice(0, 2).join(" and ") || term("id", "=", items[0].id);
};

// --- what stands around the items ---
const about = () => {
  const c = collectionOf();
  $("about").textContent = `${count(c.items)} in ${c.name}${c.network ? `, embedded by ${networkName(c)}` : ""}`;
  tellFollowing();
};
const describe = s => {
  const c = collectionOf();
  about();
  for (const name of ["collection", "versus", "filter", "arrange"]) $(name).value = s[name];
  if (s.text) $("id").value = s.text;
  if (![...$("k").options].some(o => o.value === s.k)) $("k").append(el("option", { textContent: s.k }));
  $("k").value = s.k;
  document.title = [s.id ? nameOf(s) : s.text || (s.picture ? "a photo" : ""), s.filter, "kindred"].filter(Boolean).join(" · ");
  $("drop").querySelectorAll("#choose label, #drop > p").forEach(e => { e.hidden = !c.uploads; });
  $("or").textContent = `${c.uploads ? "or " : ""}${c.words ? "words, or " : ""}an item’s id`.replace(/^./, first => c.uploads ? first : first.toUpperCase());
  $("column").replaceChildren(...c.columns.map(x => el("option", { textContent: x.name })));
  $("builder").hidden = !c.columns.length;
  $("arrangeLabel").hidden = !asks(s);
  $("kLabel").hidden = s.view === "categories";
  $("views").hidden = asks(s) || !hasCategories(c);
  for (const [id, view] of [["viewItems", ""], ["viewCategories", "categories"]]) {
    $(id).href = address({ view, sort: "" });
    $(id).onclick = e => { if (!(e.ctrlKey || e.metaKey || e.shiftKey)) { e.preventDefault(); go({ view, sort: "" }); } };
    if (s.view === view) $(id).setAttribute("aria-current", "page"); else $(id).removeAttribute("aria-current");
  }
  if (s.view) $("answer").replaceChildren();
  describeSorting();
  describeCategories(s);
  describeEditing();
  closeMapOf(c.name);
  example(c);
};
for (const name of ["collection", "versus"]) $(name).addEventListener("change", () => go({ [name]: $(name).value }));

// --- keys ---
addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input:not(.pick), select, textarea, canvas, dialog, #crop")) return;
  const hits = [...document.querySelectorAll(".hit")], i = hits.indexOf(document.activeElement);
  const row = hits.length ? Math.max(1, hits.findIndex(h => h.offsetTop > hits[0].offsetTop)) : 1;
  const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: row, ArrowUp: -row }[e.key];
  const next = by && hits.length ? hits[i < 0 ? 0 : Math.min(Math.max(i + by, 0), hits.length - 1)] : null;
  if (key(e, hits[i], next)) e.preventDefault();
  else if (next) { e.preventDefault(); next.focus(); }
  else if (e.key === "/") { e.preventDefault(); $("filter").focus(); }
  else if (e.key === "o") $("file").click();
  else if (e.key === "m") $("showMap").click();
  else if (e.key === "Backspace") { e.preventDefault(); history.back(); }
});

const begin = async () => {
  page.info = await json("v1/info");
  const { collections, review } = page.info;
  if (review) {
    if (!collections.length) { location.replace("review"); return; }
    $("toReview").hidden = false;
    $("toReview").querySelector("a").textContent = review;
  }
  const options = () => collections.map(c => el("option", { value: c.name, textContent: c.name }));
  $("collection").replaceChildren(...options());
  $("versus").replaceChildren(el("option", { value: "", textContent: "nothing" }), ...options());
  $("collectionLabel").hidden = $("versusLabel").hidden = collections.length < 2;
  for (const e of document.querySelectorAll(".writers")) e.hidden = page.info.may !== "write";
  page.state = read();
  onChange(refresh);
  refresh();
  watchFolder(about);
};
begin().catch(fail);
