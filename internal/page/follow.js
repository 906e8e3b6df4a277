// A folder that a collection follows, and the change of it that someone must confirm.
import { $, count, el, number, shorten, wait } from "./text.js";
import { collectionOf, fail, json, mayWrite, page, refresh, send, of } from "./state.js";
import { thumbnail } from "./found.js";

const following = f => ({
  comparing: () => "comparing",
  embedding: () => `${number(f.embedded)} of ${count(f.to_embed, "photo")} embedded`,
  current: () => `up to date at ${new Date(f.current).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}`,
  failed: () => `failed: ${f.error}`,
})[f.state]();
// tellLeftOut lists the files of the folder that are not in the collection.
const tellLeftOut = (all = []) => {
  $("leftOut").hidden = !all.length;
  $("leftOut").firstElementChild.textContent = `${count(all.reduce((n, l) => n + l.count, 0), "file")} left out`;
  const more = l => l.count > l.first.length ? ` and ${number(l.count - l.first.length)} more` : "";
  $("leftOut").lastElementChild.replaceChildren(...all.map(l => el("li", { textContent: `${l.reason}: ${l.first.join(", ")}${more(l)}` })));
};
// tellFollowing shows the folder to those who may write.
export const tellFollowing = () => {
  const f = page.info.may === "write" ? collectionOf().following : undefined;
  $("following").hidden = !f;
  $("following").textContent = f ? `Following ${f.folder}: ${following(f)}${f.kept ? `; ${count(f.kept)} kept without a photo` : ""}` : "";
  tellLeftOut(f?.left_out);
  tellPending(f?.pending);
};

let told = "";
const tellPending = async p => {
  const name = page.state.collection, which = p && mayWrite() ? `${name} ${p.id} ${p.removed}` : "";
  if (which === told) return;
  told = which;
  $("pending").hidden = !which;
  if (!which) return;
  const decide = async decision => {
    for (const b of $("pending").querySelectorAll("button")) b.disabled = true;
    try {
      await send("POST", of("v1/sync/pending", name), { id: p.id, decision });
      page.info = await json("v1/info");
      tellFollowing();
      await refresh();
    } catch (e) {
      fail(e);
      told = ""; // what is pending now is asked for again
      page.info = await json("v1/info");
      tellFollowing();
    }
  };
  const button = (textContent, decision) => el("button", { type: "button", textContent, onclick: () => decide(decision) });
  const by = el("p"), list = el("ul", { className: "hits" }), more = el("button", { type: "button", textContent: "Show all of them" });
  $("pending").replaceChildren(
    el("h2", { textContent: `${count(p.removed, "photo")} of ${number(p.items)} ${p.removed === 1 ? "is" : "are"} no longer in the folder` }),
    el("p", { textContent: "So many are not removed without a decision. Other changes of the folder go on." }), by,
    el("p", { className: "row" }, button(`Remove ${count(p.removed)}`, "remove"), button("Keep them", "keep")), list, more);
  const all = [];
  let next = 0;
  const read = async () => {
    const got = (await json(of("v1/sync/pending", name, { from: next, limit: page.info.limits.items }))).pending;
    all.push(...got?.list ?? []);
    next = got?.next ?? 0;
  };
  const show = n => {
    const names = shorten(all.map(it => it.id));
    list.append(...all.slice(list.children.length, n).map(it => el("li", {}, thumbnail(it.id, name, 0, !!it.path), el("small", { textContent: names.get(it.id), title: it.id }))));
    more.hidden = list.children.length === all.length && !next;
  };
  more.onclick = async () => { try { while (next) await read(); show(all.length); } catch (e) { fail(e); } };
  try {
    await read();
    const tally = new Map();
    for (const it of all) tally.set(it.label, (tally.get(it.label) ?? 0) + 1);
    const most = [...tally].sort((a, b) => b[1] - a[1]), names = shorten(tally.keys());
    const few = most.slice(0, 12).map(([label, n]) => `${number(n)} of ${names.get(label) || "no label"}`);
    by.textContent = `${few.join(", ")}${most.length > 12 ? ` and ${count(most.length - 12, "other label")}` : ""}${next ? `, among the first ${number(all.length)}` : ""}.`;
    show(8);
  } catch (e) { fail(e); }
};

// watchFolder asks again from time to time, while the page is seen.
export const watchFolder = async about => {
  while (page.info.collections.some(c => c.following)) {
    await wait(page.info.collections.some(c => /^(comparing|embedding)$/.test(c.following?.state)) ? 1000 : 10000);
    if (document.hidden) continue;
    try { page.info = await json("v1/info"); } catch { continue; } // requests of the reader show errors
    about();
  }
};
