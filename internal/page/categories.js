// The categories of a collection as cards, each with four of its photos.
import { $, count, el, number } from "./text.js";
import { collectionOf, go, json, link, narrowed, of, page, telling, term } from "./state.js";
import { shortened, shown, thumbnail } from "./found.js";

const texts = c => c.columns.filter(x => x.kind === "text" && telling(x.name)).map(x => x.name);
export const hasCategories = c => !!(c.label || texts(c).length);
const column = s => { const c = collectionOf(s.collection), all = texts(c); return all.includes(s.by) ? s.by : c.label || all[0]; };
// labels asks for the labels of a column.
export const labels = (collection, more) => json(of("v1/labels", collection, more));

export const describeCategories = s => {
  const all = texts(collectionOf(s.collection));
  $("byLabel").hidden = s.view !== "categories" || all.length < 2;
  $("by").replaceChildren(...all.map(textContent => el("option", { textContent })));
  $("by").value = column(s);
};
$("by").addEventListener("change", () => go({ by: $("by").value === collectionOf().label ? "" : $("by").value }));

const card = (l, name, collection) => el("li", {}, link(el("a", { className: "category", title: `${l.label}: ${count(l.items)}` },
  el("span", { className: "four" }, ...l.ids.slice(0, 4).map(id => thumbnail(id, collection))), el("b", {}, ...shown(l.label)), el("small", { textContent: count(l.items) })),
{ ...narrowed(term(name, "=", l.label)), view: "" }));

// categories shows the cards.
export const categories = async (s, here) => {
  const name = column(s), sort = s.sort === "name" ? "name" : "count";
  const ask = from => labels(s.collection, { column: name, limit: 24, from, sort, ...(s.filter && { filter: s.filter }) });
  let got = await ask(0);
  if (!here()) return;
  const all = [...got.labels], cards = el("ul", { className: "hits cards" });
  const draw = () => {
    shortened(all.map(l => l.label));
    cards.replaceChildren(...all.map(l => card(l, name, s.collection)));
    const none = got.missing ? [". ", link(el("a", { textContent: `${count(got.missing)} without` }), { ...narrowed(term(name, "is missing")), view: "" })] : [];
    const some = all.length < got.total ? `, ${number(all.length)} of them shown` : "";
    $("status").replaceChildren(`${count(got.total, "category", "categories")} by ${name}${s.filter ? ` with ${s.filter}` : ""}${some}`, ...none, ".");
    $("further").hidden = all.length >= got.total;
  };
  page.items = [];
  $("lists").replaceChildren(el("div", { className: "list" }, cards));
  draw();
  $("others").hidden = true;
  $("more").hidden = false;
  $("more").onclick = async () => {
    const there = all.length;
    got = await ask(there);
    if (!here()) return;
    all.push(...got.labels);
    draw();
    cards.children[there]?.querySelector("a").focus();
  };
};
