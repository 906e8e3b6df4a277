// Changes by those who may write: relabel, move, remove and add, each with its undoing.
import { $, clamp, count, el, number } from "./text.js";
import { collectionOf, fail, itemPath, json, labelColumn, mayWrite, of, page, refresh, send, telling, term } from "./state.js";
import { chosen, clear, onSelect, select } from "./select.js";
import { labels } from "./categories.js";
import { download } from "./download.js";

const { ask } = kindredServer;

// --- undoing ---
const changes = []; // what this page has changed: { text, undo }; undo promises a remark, or nothing
const tell = text => {
  const last = changes.at(-1);
  $("changes").hidden = !text && !last;
  $("changed").textContent = text || "";
  $("undo").hidden = !last;
  $("undo").textContent = last ? text === last.text ? "Undo" : `Undo: ${last.text}` : "";
};
const done = (text, undo) => { changes.push({ text, undo }); tell(text); };
let busy = false;
// work does one change at a time, and shows its error.
const work = async f => {
  if (busy) return;
  busy = true;
  $("error").hidden = true;
  for (const b of document.querySelectorAll("#selection button, #undo")) b.disabled = true;
  try { await f(); } catch (e) { tell(""); fail(e); } finally {
    busy = false;
    for (const b of document.querySelectorAll("#selection button, #undo")) b.disabled = false;
  }
};
const undo = () => work(async () => {
  const last = changes.at(-1);
  if (!last) return;
  tell("Undoing …");
  const remark = await last.undo();
  changes.pop();
  await refresh();
  tell(`Undone: ${last.text}${remark ? `; ${remark}` : ""}`);
});
$("undo").addEventListener("click", undo);
$("forget").addEventListener("click", () => { $("changes").hidden = true; });
addEventListener("keydown", e => {
  if (!(e.ctrlKey || e.metaKey) || e.shiftKey || e.key !== "z" || !changes.length || e.target.closest("input:not(.pick), textarea, dialog")) return;
  e.preventDefault();
  undo();
});

// inParts does something to many ids, as many at once as the server takes. If a part fails, those before it are done.
const inParts = async (ids, f, most = page.info.limits.items) => {
  for (let i = 0; i < ids.length; i += most) await f(ids.slice(i, i + most));
};
// itemsOf returns the items of a collection with these ids, without those that do not exist.
const itemsOf = async (c, ids) => {
  const all = [];
  await inParts(ids, async ids => all.push(...(await json(of("v1/items", c, { limit: ids.length, filter: term("id", "in", ...ids) }))).items), 50);
  return all;
};
// change runs parts that gather what undoes them; a failure leaves what was done, with its undoing.
const change = (ids, part, text, undo, nothing = "") => work(async () => {
  try { await inParts(ids, part); } finally {
    const said = text();
    if (said) { done(said, undo); await refresh(); } else tell(nothing);
  }
});

// --- the label ---
// restore gives items the earlier values of their columns, also if some have been removed since.
const restore = async (c, before) => {
  const patch = items => send("PATCH", of("v1/items", c), { items });
  try { await inParts(before, patch); } catch (e) {
    if (e.status !== 404) throw e;
    const there = new Set((await itemsOf(c, before.map(it => it.id))).map(it => it.id)), gone = before.length - there.size;
    await inParts(before.filter(it => there.has(it.id)), patch);
    return `${count(gone)} ${gone === 1 ? "is" : "are"} not there any more`;
  }
};
const relabel = async label => {
  const name = labelColumn(), c = page.state.collection, ids = [...chosen], before = [];
  let asked = 0;
  await change(ids, async ids => {
    before.push(...(await send("PATCH", of("v1/items", c), { ids, columns: { [name]: label } })).before);
    asked += ids.length;
  }, () => {
    const same = asked - before.length;
    return before.length && `${count(before.length)} relabelled “${label}”${same ? `; ${number(same)} had this label already` : ""}`;
  }, () => restore(c, before), `All of them had the label “${label}” already`);
};
$("relabel").addEventListener("submit", e => {
  e.preventDefault();
  const label = $("newLabel").value.trim();
  if (label) relabel(label).then(() => { $("newLabel").value = ""; });
});
// The known labels, as suggestions.
const suggest = async () => {
  try {
    const known = await labels(page.state.collection, { column: labelColumn(), sort: "name", limit: Math.min(1000, page.info.limits.items) });
    $("labels").replaceChildren(...known.labels.map(l => el("option", { value: l.label })));
  } catch { $("labels").replaceChildren(); } // a collection without labels yet
};
for (const id of ["newLabel", "addLabel"]) $(id).addEventListener("focus", suggest);

// --- removing ---
// put brings items back, as many at once as fit into a request with their vectors.
const put = (c, items) => inParts(items, items => send("PUT", of("v1/items", c), { items }),
  clamp(Math.floor(page.info.limits.body_bytes / (16 * collectionOf(c).dim + 4096)), 1, page.info.limits.items));
const remove = async () => {
  const c = page.state.collection, ids = [...chosen], removed = [];
  await change(ids, async ids => {
    removed.push(...(await send("DELETE", of("v1/items", c), { ids, keep: true })).items ?? []);
    select(ids, false);
  }, () => removed.length && `${count(removed.length)} removed${removed.length < ids.length ? ` of ${number(ids.length)}` : ""}`, () => put(c, removed));
};
$("remove").addEventListener("click", () => remove());

// --- moving: to a collection of the same network ---
const targets = () => {
  const from = collectionOf();
  return page.info.collections.filter(c => c !== from && c.network && c.network === from.network && c.dim === from.dim && !c.read_only);
};
// copy adds an item to another collection, with its photo if there is one.
const copy = async (id, from, to) => {
  const it = await json(itemPath(id, "", from)), own = Object.fromEntries(Object.entries(it.columns ?? {}).filter(([name]) => telling(name)));
  const photo = it.path && await ask(itemPath(id, "/picture", from)).then(a => a.blob(), e => { if (e.status !== 404) throw e; });
  if (!photo) return send("POST", of("v1/items", to), { items: [{ id, vector: it.vector, columns: own }] });
  const form = new FormData();
  form.set("image", photo, "photo");
  form.set("id", id);
  form.set("columns", JSON.stringify(own));
  return json(of("v1/items", to), { method: "POST", body: form });
};
const move = to => work(async () => {
  const from = page.state.collection, ids = [...chosen], there = [];
  const back = ids => inParts(ids, ids => send("DELETE", of("v1/items", to), { ids }));
  const moved = [];
  try {
    for (const id of ids) {
      tell(`${number(there.length)} of ${count(ids.length)} copied …`);
      await copy(id, from, to).catch(e => { throw e.code === "conflict" ? new Error(`Nothing was moved: ${to} has an item “${id}” already. Remove one of the two.`) : e; });
      there.push(id);
    }
    await inParts(there, async ids => { moved.push(...(await send("DELETE", of("v1/items", from), { ids, keep: true })).items); });
  } finally {
    const here = new Set(moved.map(it => it.id));
    await back(there.filter(id => !here.has(id))); // what did not leave is not in two places
    if (moved.length) {
      select(here, false);
      done(`${count(moved.length)} moved to ${to}`, async () => { await put(from, moved); await back([...here]); });
      await refresh();
    }
  }
});
$("move").addEventListener("submit", e => { e.preventDefault(); move($("target").value); });

// --- adding ---
// addOne adds a photo under its name, unless this very picture is here.
const addOne = async (file, label, c) => {
  const form = new FormData();
  form.set("image", file, "photo");
  form.set("k", "1");
  form.set("except_itself", "true");
  const itself = (await json(of("v1/search", c), { method: "POST", body: form })).itself ?? [];
  if (itself.length) return { there: itself[0] };
  form.delete("k");
  form.delete("except_itself");
  if (label) form.set("columns", JSON.stringify({ [labelColumn()]: label }));
  const [, name, kind] = file.name.match(/^(.*?)(\.[^.]*)?$/s);
  for (let n = 1; ; n++) {
    form.set("id", `${label ? `${label}/` : ""}${name}${n > 1 ? ` (${n})` : ""}${kind ?? ""}`);
    try { return { added: (await json(of("v1/items", c), { method: "POST", body: form })).ids[0] }; } catch (e) { if (e.code !== "conflict" || n >= 100) throw e; }
  }
};
let files = [];
const choose = some => {
  files = some;
  $("addFiles").replaceChildren(...files.slice(0, 12).map(f => el("li", { textContent: f.name })), ...(files.length > 12 ? [el("li", { textContent: `and ${number(files.length - 12)} more` })] : []));
  $("addGo").disabled = !files.length;
  $("addGo").textContent = files.length ? `Add ${count(files.length, "photo")}` : "Add";
};
const add = (files, label) => work(async () => {
  const c = page.state.collection, added = [], problems = [];
  for (const f of files) {
    if (!$("addDialog").open) break; // closed: those that are left are not added
    $("addStatus").textContent = `${number(added.length + problems.length)} of ${count(files.length, "photo")} …`;
    try {
      const got = await addOne(f, label, c);
      if (got.added) added.push(got.added); else problems.push(`${f.name} is here already: ${got.there}`);
    } catch (e) { problems.push(`${f.name}: ${e.message}`); }
  }
  choose([]);
  const said = `${count(added.length, "photo")} added${problems.length ? `, ${number(problems.length)} not` : ""}`;
  $("addStatus").textContent = `${said}.`;
  $("addFiles").replaceChildren(...problems.map(textContent => el("li", { textContent })));
  if (!added.length) return;
  if (!problems.length) $("addDialog").close();
  done(said, () => inParts(added, ids => send("DELETE", of("v1/items", c), { ids })));
  await refresh();
});
$("addPhotos").addEventListener("click", () => { choose([]); $("addStatus").textContent = ""; $("addDialog").showModal(); });
$("addInput").addEventListener("change", () => { choose([...$("addInput").files]); $("addInput").value = ""; });
$("addDrop").addEventListener("files", e => choose(e.detail));
$("addForm").addEventListener("submit", e => { e.preventDefault(); add(files, $("addLabel").value.trim()); });
$("addClose").addEventListener("click", () => $("addDialog").close());

// --- what the reader may do ---
export const describeEditing = () => {
  $("addPhotos").hidden = !mayWrite() || !collectionOf().uploads;
  const to = targets();
  $("move").hidden = !to.length;
  if ([...$("target").options].map(o => o.value).join("\n") !== to.map(c => c.name).join("\n")) $("target").replaceChildren(...to.map(c => el("option", { value: c.name, textContent: c.name })));
};
onSelect(() => { $("relabelWord").textContent = labelColumn() === "label" ? "Label" : labelColumn(); });

// --- downloads ---
// selected returns the selected items; those that are not shown are asked for.
const selected = async () => {
  const have = new Map(page.items.map(it => [it.id, it])), rest = [...chosen].filter(id => !have.has(id));
  for (const it of await itemsOf(page.state.collection, rest)) have.set(it.id, it);
  return [...chosen].flatMap(id => have.has(id) ? [have.get(id)] : []);
};
for (const b of document.querySelectorAll("[data-save]")) {
  b.addEventListener("click", async () => {
    try { tell(download(b.closest("#selection") ? await selected() : page.items, b.dataset.save)); } catch (e) { fail(e); }
  });
}
