// Selecting several items: check marks, ranges with Shift, and keys.
import { $, count, el } from "./text.js";
import { mayWrite, page } from "./state.js";

// chosen has the ids of the selected items of the collection.
export const chosen = new Set();
let of = "", anchor = null, told = () => {};
// onSelect names the function that is told of each change.
export const onSelect = f => { told = f; };

const hits = () => [...document.querySelectorAll(".hits input.pick")];
const tell = () => {
  for (const box of hits()) {
    box.checked = chosen.has(box.value);
    box.closest("li").classList.toggle("chosen", box.checked);
  }
  $("selection").hidden = !chosen.size;
  $("chosenCount").textContent = chosen.size ? `${count(chosen.size)} selected` : "";
  told();
};
// select adds ids to the selection, or removes them.
export const select = (ids, on = true) => {
  for (const id of ids) if (on) chosen.add(id); else chosen.delete(id);
  tell();
};
export const clear = () => { chosen.clear(); anchor = null; tell(); };
// follow keeps the selection as long as the collection is the same.
export const follow = () => {
  if (of !== page.state.collection || !mayWrite()) { of = page.state.collection; clear(); } else tell();
};

// range selects the items from the last one that was clicked to this one.
const range = (id, on) => {
  const ids = hits().map(b => b.value), [a, b] = [ids.indexOf(anchor), ids.indexOf(id)];
  select(a < 0 ? [id] : ids.slice(Math.min(a, b), Math.max(a, b) + 1), on);
};
// pick is the check mark of a tile, for those who may write.
export const pick = (it, collection, hit) => {
  if (!mayWrite() || collection !== page.state.collection) return [];
  const box = el("input", { type: "checkbox", className: "pick", value: it.id, title: "Select (x); with Shift all up to here" });
  box.setAttribute("aria-label", `Select ${it.id}`);
  box.tabIndex = -1; // x and the space bar on the item do the same
  box.addEventListener("click", e => {
    if (e.shiftKey) range(it.id, box.checked); else select([it.id], box.checked);
    anchor = it.id;
    hit.focus();
  });
  return [box];
};
// key does what a key on a tile asks for, and reports whether it did.
export const key = (e, hit, next) => {
  if (e.key === "Escape" && chosen.size) { clear(); return true; }
  if (!mayWrite() || !hit?.parentNode.querySelector(".pick")) return false;
  const id = hit.dataset.id;
  if (e.key === " " || e.key === "x") { select([id], !chosen.has(id)); anchor = id; return true; }
  if (!e.shiftKey || !next?.dataset.id) return false;
  if (!chosen.has(id)) anchor = id;
  range(next.dataset.id, true);
  next.focus();
  return true;
};
$("chooseShown").addEventListener("click", () => select(hits().map(b => b.value)));
$("chooseNone").addEventListener("click", () => { clear(); document.querySelector(".hit")?.focus(); });
