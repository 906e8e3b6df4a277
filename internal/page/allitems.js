// The map of all items of a collection.
import { $, count, el, number, short, shorten, wait } from "./text.js";
import { collectionOf, go, itemPath, json, mayWrite, near, of, page, reason, telling } from "./state.js";
import { select } from "./select.js";

const { ask, show } = kindredServer;

const petroff = ["#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd"];
const ramp = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"];
const spun = i => { // hues apart by the golden angle
  const h = i * 0.61803398875 % 1 * 6, v = 0.62 + 0.11 * (i % 3);
  return "#" + [5, 3, 1].map(n => { const k = (n + h) % 6; return Math.round(255 * (v - 0.75 * v * Math.max(0, Math.min(k, 4 - k, 1)))).toString(16).padStart(2, "0"); }).join("");
};
const looks = n => ({
  colours: Array.from({ length: n }, (_, i) => n > 50 ? spun(i) : petroff[i % 10]),
  shapes: Array.from({ length: n }, (_, i) => n > 50 ? i % 5 : Math.floor(i / 10)),
});
// classed turns a column into classes: numbers into nine ranges.
const classed = c => {
  if (c.kind !== "number") return { names: c.classes, short: shorten(c.classes, 26), ...looks(c.classes.length), of: Int32Array.from(c.of) };
  let [lo, hi] = [Infinity, -Infinity];
  for (const v of c.numbers) if (v !== null) { lo = Math.min(lo, v); hi = Math.max(hi, v); }
  const n = hi > lo ? ramp.length : 1, edge = i => short(lo + (hi - lo) * i / n);
  return {
    names: Array.from({ length: n }, (_, i) => n > 1 ? `${edge(i)} to ${edge(i + 1)}` : short(lo)), colours: ramp.slice(0, n), shapes: Array(n).fill(0),
    of: Int32Array.from(c.numbers, v => v === null ? -1 : hi > lo ? Math.min(n - 1, Math.floor(n * (v - lo) / (hi - lo))) : 0),
  };
};
let mapOf = "";
// closeMapOf closes the map of another collection.
export const closeMapOf = name => { if (mapOf && mapOf !== name) closeMap(); };
const closeMap = () => {
  mapOf = "";
  $("mapPlace").replaceChildren();
  $("mapStatus").textContent = "";
  $("showMap").textContent = "Show the map of all items";
  $("showMap").setAttribute("aria-expanded", "false");
};
const openMap = async () => {
  const name = mapOf = page.state.collection, here = () => mapOf === name;
  $("showMap").textContent = "Hide the map";
  $("showMap").setAttribute("aria-expanded", "true");
  let m;
  for (;;) {
    m = await json(of("v1/map", name));
    if (!here() || m.state !== "computing") break;
    $("mapStatus").textContent = "The map is being computed …";
    await wait(700);
  }
  if (!here()) return;
  if (m.state === "failed") throw new Error(m.error || "the map could not be computed");
  const version = m.version;
  const place = new Float32Array(await (await ask(of("v1/map/points", name, { version }))).arrayBuffer()), ids = [];
  while (ids.length < m.items) {
    const part = (await json(of("v1/map/ids", name, { version, from: ids.length }))).ids;
    if (!part.length) break;
    for (const id of part) ids.push(id);
  }
  const c = collectionOf(name);
  const all = c.columns.filter(x => telling(x.name)).map(x => ({
    name: x.name, read: async () => classed(await json(of("v1/map/column", name, { version, name: x.name }))),
  }));
  all.sort((a, b) => (b.name === c.label) - (a.name === c.label));
  if (all.length) Object.assign(all[0], await all[0].read());
  if (!here()) return;
  const figure = el("figure", { className: "map" }, el("div", { className: "stage" }));
  $("mapPlace").replaceChildren(figure);
  if (!kindredMap.works) throw new Error("this browser has no WebGL2, which the map needs");
  kindredMap.build(figure, {
    place, names: ids, columns: all, step: 1, file: name,
    photo: (i, room) => {
      const img = el("img", { alt: "", onerror: () => img.remove() });
      img.style.maxHeight = `${room}px`;
      show(img, itemPath(ids[i], "/thumbnail", name));
      return [el("div", { className: "photo" }, img)];
    },
    more: i => [el("button", { type: "button", className: "button-search", textContent: "Look for what is near", onclick: () => { go(near(ids[i])); scrollTo({ top: 0 }); } })],
    choose: mayWrite() ? some => select(some.map(i => ids[i])) : undefined,
  });
  const [sample, others] = m.placed < m.items ? [`a sample of ${number(m.placed)} `, ", the others beside their nearest sampled items"] : ["", ""];
  const how = { tsne: `${sample}by t-SNE, in which only neighbourhoods have a meaning${others}`, plain: "the two dimensions of the embedding" }[m.method] ?? m.method;
  $("mapStatus").textContent = `${count(ids.length)}, ${how}${m.stale ? "; items have changed since" : ""}.`;
};
$("showMap").addEventListener("click", async () => {
  if (!page.info) return; // the collections are not known yet
  if (mapOf) { closeMap(); return; }
  try { await openMap(); } catch (e) { closeMap(); $("mapStatus").textContent = reason(e); }
});
