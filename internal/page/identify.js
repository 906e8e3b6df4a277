// Is the photo here already? Yes, if this very picture is; perhaps, if a label is likely enough; else no.
import { count, el, percent } from "./text.js";
import { collectionOf, link, nameOf, narrowed, near, of, send, json, reason, term, labelColumn } from "./state.js";
import { shown, thumbnail } from "./found.js";
import { withPicture } from "./photo.js";

// identify asks for the decision on a query; null where the collection cannot decide.
export const identify = async s => {
  const c = collectionOf(s.collection);
  if (!c.calibration || !c.label || s.text) return null;
  const path = of("v1/identify", c.name);
  if (!s.picture) return send("POST", path, { ids: [s.id] });
  return withPicture(s, ({ picture, file }) => {
    if (picture) return send("POST", path, { picture });
    const form = new FormData();
    form.set("image", file, "photo");
    return json(path, { method: "POST", body: form });
  });
};

const large = (it, collection, ...said) => el("li", {}, link(el("a", { title: `${it.id}: look for what is near it` }, thumbnail(it.id, collection, 512),
  ...said.filter(Boolean).map(text => el("span", {}, ...shown(text)))), near(it.id)));
const panel = (word, kind, said, pictures) => el("section", { className: `answer ${kind}` }, el("h2", {}, "Already here? ", el("b", { textContent: word })),
  ...(pictures.length ? [el("ul", { className: "large" }, ...pictures)] : []), el("p", {}, ...said));

// answered is the panel of an answer, with the search's for the same query; [] if there is nothing to say.
export const answered = (s, got, search) => {
  if (got instanceof Error) return [el("section", { className: "answer" }, el("p", { textContent: `Whether it is already here cannot be said: ${reason(got)}.` }))];
  const c = collectionOf(s.collection), decided = got ?? search;
  const itself = (decided.itself ?? []).map((id, i) => ({ id, label: decided.itself_labels?.[i] })).filter(it => it.id !== s.id);
  const differ = new Set(itself.map(it => it.label).filter(Boolean)).size > 1;
  if (itself.length) {
    const what = itself.length === 1 ? "This very picture is here." : `This very picture is here as ${count(itself.length)}${differ ? ", and their labels differ" : ""}.`;
    const more = itself.length > 4 ? ` ${count(itself.length - 4, "further one")} ${itself.length === 5 ? "is" : "are"} not shown.` : "";
    return [panel("Yes", "yes", [what + more], itself.slice(0, 4).map(it => large(it, c.name, it.label, nameOf(it))))];
  }
  if (!got) return [];
  const by = got.answer === "picture" && got.others ? got.others : got; // an item is its own picture
  if (by.label === undefined || (got.answer === "picture" && !got.others)) return [];
  const like = search.neighbours.filter(h => h.label === by.label).slice(0, 3).map(h => large(h, c.name, h.label, nameOf(h)));
  const label = () => link(el("a", { title: by.label }, ...shown(by.label)), { ...narrowed(term(labelColumn(), "=", by.label)), view: "" });
  if (by.unknown) {
    const least = got.needed === undefined ? "" : `; ${percent(got.needed)} would be needed`;
    const likeliest = by.label ? [" The likeliest label is ", label(), ` (${percent(by.probability)}${least}).`] : [];
    return [panel("No", "no", ["Nothing here is likely enough the same thing.", ...likeliest], like)];
  }
  const equal = got.nearest !== undefined && got.nearest < 1e-6 && got.distance !== "dot";
  const then = by.runner_up ? ` The next is ${by.runner_up} (${percent(by.runner_up_probability)}).` : "";
  return [panel("Perhaps", "perhaps", [equal ? "An item with an equal embedding is here, of the label " : "The very picture is not here. It shows the same thing as items of ",
    label(), equal ? "." : ` with a probability of ${percent(by.probability)}.${then}`], like)];
};
