// What the page shows. The address holds all of it, so that a search is a link and Back goes back.
import { $ } from "./text.js";

const { ask } = kindredServer;

// page.info is the answer of /v1/info, page.state what is shown, page.items the items shown, in order.
export const page = { info: null, state: {}, items: [] };
export const collectionOf = (name = page.state.collection) => page.info.collections.find(c => c.name === name);
export const mayWrite = () => page.info?.may === "write" && !collectionOf().read_only;
export const labelColumn = () => collectionOf().label || "label";

export const of = (path, collection, more = {}) => `${path}?${new URLSearchParams({ collection, ...more })}`;
export const itemPath = (id, what, collection) => of(`v1/items/${encodeURIComponent(id)}${what}`, collection);
export const json = async (path, options) => (await ask(path, options)).json();
// send sends a body as JSON.
export const send = (method, path, body) => json(path, { method, body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });

// What a search is asked for, besides the nearest items.
export const arranged = { "": () => ({}), group: c => c.label ? { group_by: c.label } : {}, diverse: () => ({ diverse: 0.3 }), rerank: () => ({ rerank: "k-reciprocal" }) };

const fields = ["collection", "versus", "view", "by", "id", "text", "picture", "crop", "filter", "sort"];
export const read = () => {
  const q = new URLSearchParams(location.search), text = name => q.get(name) ?? "";
  const known = name => page.info.collections.some(c => c.name === name) ? name : "";
  return {
    ...Object.fromEntries(fields.map(name => [name, text(name)])),
    collection: known(text("collection")) || page.info.collections[0].name, versus: known(text("versus")),
    view: text("view") === "categories" ? "categories" : "", crop: /^((0(\.\d+)?|1)(,(?!$)|$)){4}$/.test(text("crop")) ? text("crop") : "",
    k: /^[1-9]\d{0,4}$/.test(text("k")) ? text("k") : "20", seed: /^\d{1,15}$/.test(text("seed")) ? text("seed") : "1",
    arrange: Object.hasOwn(arranged, text("arrange")) ? text("arrange") : "",
  };
};
export const asks = s => s.id || s.text || s.picture;
export const address = change => {
  const s = { ...page.state, ...change }, q = new URLSearchParams();
  for (const name of fields) if (s[name]) q.set(name, s[name]);
  if (s.collection === page.info.collections[0].name) q.delete("collection");
  if (s.k !== "20") q.set("k", s.k);
  if (s.arrange) q.set("arrange", s.arrange);
  if (s.seed !== "1" && !asks(s)) q.set("seed", s.seed);
  return `${location.pathname}${q.size ? `?${q}` : ""}`;
};

let redraw = () => {};
// onChange names the function that draws the state.
export const onChange = draw => { redraw = draw; };
export const refresh = () => redraw();
// go changes what is shown. A replaced state takes no step in the history.
export const go = (change, replace = false) => {
  const to = address(change);
  page.state = { ...page.state, ...change };
  history[replace ? "replaceState" : "pushState"](null, "", to);
  redraw();
};
addEventListener("popstate", () => { if (page.info) { page.state = read(); redraw(); } });

// The start: no query, no filter, no order.
export const start = { id: "", text: "", picture: "", crop: "", view: "", by: "", filter: "", sort: "", arrange: "", k: "20", seed: "1" };
const nothing = { id: "", text: "", picture: "", crop: "", view: "" };
export const near = id => ({ ...nothing, id });
export const words = text => ({ ...nothing, text });
export const photo = picture => ({ ...nothing, picture });
// link is an anchor of a state: a click goes there, and a new tab can open it.
export const link = (a, change) => {
  a.href = address(change);
  a.addEventListener("click", e => {
    if (e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    go(change);
  });
  return a;
};

// reason returns the text of an error. What only the server's owner can do is of no use to a reader.
export const reason = e => {
  const owners = /\bkindred [a-z]|--[a-z]|\b[Ss]tart the server/;
  if (page.info?.may !== "read" || !owners.test(e.message)) return e.message;
  if (e.code === "bad_picture") return "The server cannot read this photo: choose a JPEG or a PNG";
  return e.detail && !owners.test(e.detail) ? e.detail : "The server cannot do this";
};
export const fail = e => {
  $("error").textContent = reason(e);
  $("error").hidden = false;
};

// A filter's parts.
const literal = v => typeof v === "string" ? `"${v.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"` : String(v);
const word = name => /^[A-Za-z_][\w.-]*$/.test(name) && !/^(and|or|not|in|is|missing|true|false)$/i.test(name) ? name : `\`${name}\``;
export const term = (name, op, ...values) => op === "in" ? `${word(name)} in (${values.map(literal).join(", ")})` : [word(name), op, ...values.map(literal)].filter(Boolean).join(" ");
// narrowed adds a term to the filter.
export const narrowed = t => {
  const have = page.state.filter;
  return { filter: have && !have.includes(t) ? `(${have}) and ${t}` : t };
};

// Columns about an item's file serve only to follow a folder and are not shown.
export const telling = name => !name.startsWith("file.");
// networkName is a network's name without the folders of the server.
export const networkName = c => c.network.split(/[\\/]/).filter(Boolean).at(-1);
export const nameOf = it => it.id.split("/").slice(-2).join("/");
