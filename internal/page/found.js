// Items as tiles: what was found, the wall of items without a query, and their order.
import { $, breakable, el, number, percent, short, shorten } from "./text.js";
import { asks, collectionOf, go, itemPath, link, nameOf, narrowed, near, networkName, page, telling, term } from "./state.js";
import { pick } from "./select.js";

const { show } = kindredServer;

// thumbnail is the picture of an item in a frame, if it has one.
export const thumbnail = (id, collection, size, has = true) => {
  const frame = el("span", { className: "thumb" });
  const img = el("img", { alt: "", loading: "lazy", decoding: "async", onerror: () => frame.replaceChildren("no picture") });
  frame.append(img);
  if (has) show(img, itemPath(id, "/thumbnail", collection) + (size ? `&size=${size}` : "")); else img.onerror();
  return frame;
};

// shown is a text as the page shows it, shortened among the others.
let short36 = new Map();
export const shortened = texts => { short36 = shorten(texts); };
export const shown = text => breakable(short36.get(text) ?? text);

// columns lists values; a click asks for items with the same.
export const columns = values => el("dl", { className: "cols" }, ...Object.entries(values ?? {}).filter(([name]) => telling(name)).flatMap(([name, v]) => {
  const a = el("a", { title: `${v}: only items with this ${name}` }, ...(typeof v === "string" ? shown(v) : [short(v)]));
  return [el("dt", { textContent: name }), el("dd", {}, link(a, narrowed(term(name, "=", v))))];
}));

// saying returns what is known of a neighbour. Without a calibration only the distance is shown.
const saying = (h, answer) => {
  if (h.distance === undefined) return [];
  const far = `distance ${short(h.distance)}`, equal = h.distance < 1e-6 && answer.distance !== "dot";
  const same = h.same === undefined ? [far] : [h.itself ? "this very picture" : equal ? "an equal embedding" : `the same: ${percent(h.same)}`, far];
  return h.count > 1 ? [...same, `and ${number(h.count - 1)} more of ${h.label || "its group"}`] : same;
};
// tile is an item among others: a click looks for what is near it.
export const tile = (h, collection, answer, both) => {
  const name = nameOf(h), said = saying(h, answer);
  const hit = el("a", { className: "hit", title: `${page.info.may === "write" && h.path || h.id}: look for what is near it` }, thumbnail(h.id, collection, 0, !!h.path),
    ...said.map((textContent, i) => el(i ? "small" : "b", { textContent })), el("small", { className: "file" }, el("bdi", { textContent: name })),
    ...(both ? [el("span", { className: "unseen", textContent: "found by both" })] : []));
  hit.dataset.id = h.id;
  return el("li", { className: both ? "both" : "" }, link(hit, near(h.id)), ...pick(h, collection, hit), columns(h.columns));
};

// sorted orders items by the chosen column, those without a value last.
const sorted = (items, by) => {
  if (!by) return items;
  const value = by === "distance" ? it => it.distance : by === "name" ? nameOf : it => it.columns?.[by.replace(/^column /, "")];
  const texts = new Intl.Collator("en", { numeric: true });
  const compare = (a, b) => a === undefined ? +(b !== undefined) : b === undefined ? -1 : typeof a === "string" && typeof b === "string" ? texts.compare(a, b) : a < b ? -1 : +(a > b);
  return [...items].sort((a, b) => compare(value(a), value(b)));
};
export const describeSorting = () => {
  const c = collectionOf(), s = page.state;
  const all = s.view && !asks(s) ? [["", "most items first"], ["name", "name"]] : [
    ...(asks(s) ? [["", "as found"], ["distance", "distance"]] : [["", c.browse ? "random" : "by id"]]), ["name", "name"],
    ...c.columns.filter(x => telling(x.name)).map(x => [`column ${x.name}`, x.name]),
  ];
  $("sort").replaceChildren(...all.map(([value, textContent]) => el("option", { value, textContent })));
  $("sort").value = all.some(([value]) => value === s.sort) ? s.sort : "";
};
$("sort").addEventListener("change", () => go({ sort: $("sort").value }, true));

// hang shows items of a list.
export const hang = (items, collection, answer = {}, both = () => false) => {
  const order = sorted(items, page.state.sort);
  return [order, el("ul", { className: "hits" }, ...order.map(it => tile(it, collection, answer, both(it.id))))];
};
export const shortenColumns = items => shortened(items.flatMap(it => Object.values(it.columns ?? {}).filter(v => typeof v === "string")));

// list is what a search found in a collection.
export const list = (answer, named, both, explain) => {
  const box = el("div", { className: "list" });
  if (named) {
    const c = collectionOf(answer.gallery);
    box.append(el("h2", { textContent: `${answer.gallery}${c.network ? ` (${networkName(c)})` : ""}` }));
  }
  if (answer.notes) {
    box.append(el("div", { className: "notes" }, el("ul", {}, ...answer.notes.map(n => el("li", { textContent: n.replaceAll(" %", "\u00a0%") })))));
  }
  if (!answer.neighbours.length) box.append(el("p", { textContent: page.state.filter ? "No other item passes this filter." : "There is no other item." }));
  const [order, hits] = hang(answer.neighbours, answer.gallery, answer, both);
  if (answer.gallery === page.state.collection) page.items = order;
  box.append(hits);
  if (!answer.notes && answer.neighbours.length) box.append(el("button", { type: "button", className: "explain", textContent: "Why these?", onclick: explain }));
  return box;
};
