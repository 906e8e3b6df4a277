"use strict";
// The page of kindred serve. The address and the history's state hold what is shown, so
// that Back goes back: an item by its id, the reader's photo by its number among the
// photos that this page has in memory.
{
  const el = kindredMap.el;
  const $ = id => document.getElementById(id);
  const number = n => n.toLocaleString("en");
  const short = v => typeof v === "number" ? +v.toPrecision(4) + "" : String(v);

  // --- the server ---
  const { ask, show } = kindredServer;
  const of = (path, collection, more = {}) => `${path}?${new URLSearchParams({ collection, ...more })}`;
  const item = (id, what, collection) => of(`v1/items/${encodeURIComponent(id)}${what}`, collection);
  // --- what is looked at ---
  const photos = []; // { blob, crop, sent }: crop in shares of the photo, or null; sent as the server gets it, by size
  let info = null, state = {};
  const collectionOf = name => info.collections.find(c => c.name === name);
  // What a search is asked for, besides the nearest items.
  const arranged = { "": () => ({}), group: c => c.label ? { group_by: c.label } : {}, diverse: () => ({ diverse: 0.3 }), rerank: () => ({ rerank: "k-reciprocal" }) };
  const read = () => {
    const q = new URLSearchParams(location.search), photo = history.state?.photo;
    const known = name => info.collections.some(c => c.name === name) ? name : "";
    return {
      collection: known(q.get("collection")) || info.collections[0].name, versus: known(q.get("versus")), id: q.get("id") ?? "", text: q.get("text") ?? "",
      filter: q.get("filter") ?? "", k: q.get("k") ?? "20", seed: /^\d{1,15}$/.test(q.get("seed")) ? q.get("seed") : "1", photo: photos[photo] ? photo : undefined,
      arrange: Object.hasOwn(arranged, q.get("arrange")) ? q.get("arrange") : "",
    };
  };
  const address = s => {
    const q = new URLSearchParams();
    for (const name of ["collection", "versus", "id", "text", "filter"]) if (s[name]) q.set(name, s[name]);
    if (s.collection === info.collections[0].name) q.delete("collection");
    if (s.k !== "20") q.set("k", s.k);
    if (s.arrange) q.set("arrange", s.arrange);
    if (s.seed !== "1" && !s.id && !s.text) q.set("seed", s.seed);
    return `${location.pathname}${q.size ? `?${q}` : ""}`;
  };
  const go = change => {
    state = { ...state, ...change };
    history.pushState({ photo: state.photo }, "", address(state));
    refresh();
  };
  addEventListener("popstate", () => { state = read(); refresh(); });
  const walk = id => go({ id, text: "", photo: undefined });
  const lookFor = blob => { photos.push({ blob, crop: null }); go({ id: "", text: "", photo: photos.length - 1 }); };

  // --- photos: dropped, pasted, chosen, taken ---
  const take = files => {
    // A browser does not know the type of every picture (HEIC), so the server decides what a file is.
    lookFor([...files].find(f => f.type.startsWith("image/")) ?? files[0]);
  };
  for (const input of [$("file"), $("camera")]) {
    input.addEventListener("change", () => { if (input.files.length) take(input.files); input.value = ""; });
    input.closest(".button").addEventListener("keydown", e => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); input.click(); } });
  }
  // A phone's own camera takes the photo where there is one; elsewhere the browser shows
  // what a camera sees, if it may, and else lets choose a file.
  $("camera").addEventListener("click", e => {
    if (matchMedia("(pointer: coarse)").matches || !navigator.mediaDevices?.getUserMedia) return;
    e.preventDefault();
    shoot();
  });
  const shoot = async () => {
    const box = $("cameraDialog"), video = $("seen");
    let seen;
    try { seen = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 1920 } } }); } catch (e) {
      fail(new Error(e.name === "NotFoundError" ? "there is no camera: choose a photo" : "the browser does not show the camera: choose a photo"));
      return;
    }
    const stop = () => { for (const t of seen.getTracks()) t.stop(); video.srcObject = null; };
    video.onloadeddata = () => { $("shoot").disabled = false; $("shoot").focus(); };
    $("shoot").onclick = () => {
      const canvas = el("canvas", { width: video.videoWidth, height: video.videoHeight });
      canvas.getContext("2d").drawImage(video, 0, 0);
      canvas.toBlob(lookFor, "image/jpeg", 0.92);
    };
    box.onclose = () => { stop(); $("shoot").disabled = true; };
    video.srcObject = seen;
    box.showModal();
  };
  addEventListener("paste", e => { if (e.clipboardData?.files.length) { e.preventDefault(); take(e.clipboardData.files); } });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    addEventListener(kind, e => {
      e.preventDefault();
      $("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop" && e.dataTransfer.files.length) take(e.dataTransfer.files);
    });
  }
  // What is no item's id is words, where the collection takes them; an id has a slash more often than words do.
  const lookUp = async what => {
    const c = collectionOf(state.collection);
    if (c.words && !what.includes("/")) {
      try { await ask(item(what, "", c.name)); } catch (e) { if (e.status === 404) { go({ id: "", text: what, photo: undefined }); return; } }
    }
    walk(what);
  };
  $("byId").addEventListener("submit", e => { e.preventDefault(); if ($("id").value.trim()) lookUp($("id").value.trim()); });

  // --- the part of a photo that is looked for ---
  let drawn = null; // where a drag over the photo began, and where it is
  const place = crop => {
    $("part").hidden = !crop;
    $("whole").hidden = !crop;
    if (!crop) return;
    const [w, h] = [$("shown").clientWidth, $("shown").clientHeight];
    Object.assign($("part").style, { left: `${crop.x * w}px`, top: `${crop.y * h}px`, width: `${crop.w * w}px`, height: `${crop.h * h}px` });
  };
  const clamp = (x, lo, hi) => Math.min(Math.max(x, lo), hi);
  const at = e => { const b = $("shown").getBoundingClientRect(); return [clamp((e.clientX - b.left) / b.width, 0, 1), clamp((e.clientY - b.top) / b.height, 0, 1)]; };
  const between = ([ax, ay], [bx, by]) => ({ x: Math.min(ax, bx), y: Math.min(ay, by), w: Math.abs(ax - bx), h: Math.abs(ay - by) });
  // crop looks for a part; a step of its own in the history.
  const crop = part => { photos.push({ blob: photos[state.photo].blob, crop: part }); go({ photo: photos.length - 1 }); };
  $("crop").addEventListener("pointerdown", e => {
    if (state.photo === undefined) return;
    e.preventDefault();
    $("crop").focus();
    $("crop").setPointerCapture(e.pointerId);
    drawn = { from: at(e) };
  });
  $("crop").addEventListener("pointermove", e => { if (drawn) { drawn.part = between(drawn.from, at(e)); place(drawn.part); } });
  $("crop").addEventListener("pointerup", () => {
    const part = drawn?.part;
    drawn = null;
    if (part && part.w > 0.03 && part.h > 0.03) crop(part); else if (state.photo !== undefined) place(photos[state.photo].crop);
  });
  $("crop").addEventListener("pointercancel", () => { drawn = null; });
  $("whole").addEventListener("click", () => crop(null));
  let settle = 0; // a moment after the last key the part is looked for
  $("crop").addEventListener("keydown", e => {
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key] ?? [0, 0];
    if (state.photo === undefined || !(dx || dy || e.key === "Escape")) return;
    e.preventDefault();
    e.stopPropagation();
    if (e.key === "Escape") { if (photos[state.photo].crop) crop(null); return; }
    const c = { ...(drawn?.part ?? photos[state.photo].crop ?? { x: 0.2, y: 0.2, w: 0.6, h: 0.6 }) }, by = 0.04;
    if (e.shiftKey) {
      c.w = clamp(c.w + by * dx, 0.08, 1 - c.x);
      c.h = clamp(c.h + by * dy, 0.08, 1 - c.y);
    } else {
      c.x = clamp(c.x + by * dx, 0, 1 - c.w);
      c.y = clamp(c.y + by * dy, 0, 1 - c.h);
    }
    drawn = { part: c };
    place(c);
    clearTimeout(settle);
    settle = setTimeout(() => { drawn = null; crop(c); }, 700);
  });
  addEventListener("resize", () => { if (state.photo !== undefined) place(photos[state.photo].crop); });
  // An item's own picture can be cropped too: it becomes a photo of the reader's.
  $("cut").addEventListener("click", async () => {
    try { lookFor(await (await ask(item(state.id, "/picture", state.collection))).blob()); $("crop").focus(); } catch (e) { fail(e); }
  });
  // cut returns the part of a photo that is looked for, upright. It reduces a large photo to a size at which the
  // network still gets the same: the longer side to long pixels, but the shorter side to no less than half of that.
  // A smaller file is sent as it is, so that the server can tell whether it is the picture of an item. So is one that
  // may be transparent, which the server lays on a background of its own, and one that the browser cannot read.
  const cut = async (photo, long) => {
    const { blob, crop } = photo;
    if (!crop && !(blob.size > 1e6 && /^image\/(jpeg|heic|heif)$/.test(blob.type))) return blob;
    let whole;
    try { whole = await createImageBitmap(blob, { colorSpaceConversion: "none" }); } catch (e) { if (crop) throw e; return blob; }
    const { x, y, w, h } = crop ?? { x: 0, y: 0, w: 1, h: 1 }, [pw, ph] = [w * whole.width, h * whole.height];
    const scale = Math.min(1, Math.max(long / Math.max(pw, ph), long / 2 / Math.min(pw, ph)));
    if (!crop && scale === 1) { whole.close(); return blob; }
    const canvas = el("canvas", { width: Math.max(1, Math.round(scale * pw)), height: Math.max(1, Math.round(scale * ph)) }), g = canvas.getContext("2d");
    g.imageSmoothingQuality = "high";
    g.drawImage(whole, x * whole.width, y * whole.height, pw, ph, 0, 0, canvas.width, canvas.height);
    whole.close();
    return new Promise(done => canvas.toBlob(done, "image/jpeg", 0.92));
  };
  // sent returns a photo as a collection gets it. It keeps it for the next filter.
  const sent = (photo, collection) => {
    const long = Math.max(1024, 4 * (collectionOf(collection).side ?? 0));
    photo.sent ??= new Map();
    if (!photo.sent.has(long)) photo.sent.set(long, cut(photo, long));
    return photo.sent.get(long);
  };

  // --- searching ---
  const body = async (s, collection) => {
    const more = { ...(s.filter && { filter: s.filter }), ...arranged[s.arrange](collectionOf(collection)) };
    const json = of => ({ body: JSON.stringify({ ...of, k: +s.k, ...more }), headers: { "Content-Type": "application/json" } });
    let photo = s.photo !== undefined ? await sent(photos[s.photo], collection) : null;
    if (!photo && s.text) return json({ text: s.text });
    if (!photo && collection !== s.collection) {
      // The other collection may know the item; if not, its picture is looked up.
      const there = await ask(item(s.id, "", collection)).then(() => true, e => { if (e.status !== 404) throw e; });
      if (!there) photo = await (await ask(item(s.id, "/picture", s.collection))).blob();
    }
    if (!photo) return json({ id: s.id, except_itself: true });
    const form = new FormData();
    form.set("image", photo, "photo");
    form.set("k", s.k);
    form.set("except_itself", "true");
    for (const [name, value] of Object.entries(more)) form.set(name, value);
    return { body: form };
  };
  const find = async (s, collection, why) =>
    (await ask(of(why ? "v1/explain" : "v1/search", collection), { method: "POST", ...await body(s, collection) })).json();

  const fail = e => {
    $("error").textContent = e.message;
    $("error").hidden = false;
  };
  let asked = 0;
  const refresh = async () => {
    const turn = ++asked, s = state;
    $("error").hidden = true;
    $("collection").value = s.collection;
    $("versus").value = s.versus;
    $("filter").value = s.filter;
    if (s.text) $("id").value = s.text;
    $("k").value = s.k;
    $("arrange").value = s.arrange;
    describe();
    query(s);
    $("further").hidden = true;
    $("status").textContent = "Looking …";
    if (!s.id && !s.text && s.photo === undefined) {
      try { await wall(s, () => turn === asked); } catch (e) { if (turn === asked) nothing(e); }
      return;
    }
    const names = [s.collection, ...(s.versus && s.versus !== s.collection ? [s.versus] : [])];
    try {
      const answers = await Promise.all(names.map(n => find(s, n, names.length > 1 || why)));
      if (turn !== asked) return;
      const sets = answers.map(a => new Set(a.neighbours.map(h => h.id)));
      $("lists").classList.toggle("two", names.length > 1);
      $("lists").replaceChildren(...answers.map((a, i) => list(a, names.length > 1, id => names.length > 1 && sets[1 - i].has(id))));
      const n = answers[0].neighbours.length;
      $("status").textContent = `${number(n)} neighbour${n === 1 ? "" : "s"} among ${number(collectionOf(s.collection).items)} items` +
        (s.filter ? `, those with ${s.filter}` : "") + (names.length > 1 ? `; ${[...sets[0]].filter(id => sets[1].has(id)).length} are found by both (framed)` : "");
    } catch (e) {
      if (turn !== asked) return;
      nothing(e);
      if (e.status === 404 && s.id && s.photo === undefined) try { await like(s, () => turn === asked); } catch (e) { fail(e); }
    }
  };
  const nothing = e => {
    $("lists").replaceChildren();
    $("status").textContent = "";
    fail(e);
  };
  // hang shows items without a query.
  const hang = (s, items) => {
    $("lists").classList.remove("two");
    $("lists").replaceChildren(el("div", { className: "list" }, el("ul", { className: "hits" }, ...items.map((it, i) => tile(it, s.collection, i, [])))));
  };
  // wall shows items that pass the filter, drawn by a seed, while there is no query.
  const wall = async (s, here, after = "") => {
    const c = collectionOf(s.collection);
    const page = await (await ask(of("v1/items", s.collection, { limit: s.k, ...(c.browse && { seed: s.seed }), ...(s.filter && { filter: s.filter }), ...(after && { after }) }))).json();
    if (!here()) return;
    const hits = document.querySelector(".hits"), there = after ? hits.children.length : 0;
    if (after) {
      hits.append(...page.items.map((it, i) => tile(it, s.collection, there + i, [])));
      hits.children[there]?.querySelector(".hit").focus();
    } else hang(s, page.items);
    const shown = there + page.items.length, all = page.passed ?? (page.next ? undefined : shown);
    const some = all === shown ? "" : c.browse ? `${number(shown)} of them, drawn at random` : `the first ${number(shown)} by their ids`;
    const pass = all === undefined ? `Items${s.filter ? ` that pass ${s.filter}` : ""}` : s.filter ? `${number(all)} of ${number(c.items)} item${c.items === 1 ? "" : "s"} ${all === 1 ? "passes" : "pass"} ${s.filter}` : `${number(all)} item${all === 1 ? "" : "s"}`;
    $("status").textContent = [pass, ...(some ? [some] : [])].join(": ") + (all === 0 ? "" : ". Choose one to see what is near it.");
    $("further").hidden = !page.next && !some;
    $("more").hidden = !page.next;
    $("more").onclick = () => wall(s, here, page.next).catch(fail);
    $("others").hidden = !c.browse || !some;
    $("others").onclick = () => go({ seed: String(+s.seed + 1) });
  };
  // like reports that no item has an id, and shows items with similar ids.
  const like = async (s, here) => {
    $("query").hidden = true;
    const c = collectionOf(s.collection), none = `No item of ${s.collection} is called “${s.id}”.`;
    fail(new Error(none));
    const near = c.browse ? (await (await ask(of("v1/items", s.collection, { like: s.id, limit: 12 }))).json()).items : [];
    if (!here() || !near.length) return;
    $("status").textContent = "Items with a name like it:";
    hang(s, near);
  };
  // query shows what is looked up.
  let shownOf = "";
  const query = async s => {
    const photo = photos[s.photo], img = $("shown");
    const what = photo ? `photo ${s.photo}` : `${s.collection} ${s.id}`;
    place(null);
    if (what === shownOf && !$("query").hidden) { if (photo) place(photo.crop); return; }
    shownOf = what;
    $("cut").hidden = true;
    $("query").hidden = !photo;
    if (photo) {
      picture(img, "your photo", () => place(photo.crop));
      $("of").textContent = "Your photo. Draw over it to look for a part of it.";
      img.src = URL.createObjectURL(photo.blob);
      return;
    }
    if (!s.id) return;
    let it;
    try { it = await (await ask(item(s.id, "", s.collection))).json(); } catch { return; } // the search says it
    if (what !== shownOf) return;
    const name = nameOf(it);
    $("of").replaceChildren(el("h2", { textContent: name, title: it.path || it.id }), ...(name === it.id ? [] : [el("p", { textContent: it.id })]), columns(it.columns));
    $("cut").hidden = !it.path || !collectionOf(s.collection).uploads;
    $("query").hidden = false;
    picture(img, name);
    const none = img.onerror;
    // Browsers show no HEIC and few show JPEG XL and TIFF. The server makes a smaller JPEG of them.
    img.onerror = () => {
      img.onerror = none;
      $("cut").hidden = true;
      show(img, of(`v1/items/${encodeURIComponent(s.id)}/thumbnail`, s.collection, { size: 1024 }));
    };
    if (it.path) show(img, item(s.id, "/picture", s.collection)); else none();
  };
  // picture prepares an img; without a picture it is hidden.
  const picture = (img, alt, loaded) => {
    img.removeAttribute("src");
    img.alt = alt;
    $("crop").hidden = false;
    img.onload = () => loaded?.();
    img.onerror = () => { $("crop").hidden = $("cut").hidden = true; };
  };
  const nameOf = it => (it.path || it.id).split("/").slice(-2).join("/");
  // Columns about an item's file serve only to follow a folder and are not shown.
  const telling = name => !name.startsWith("file.");
  // columns lists values; a click asks for items with the same.
  const columns = values => el("dl", { className: "cols" }, ...Object.entries(values ?? {}).filter(([name]) => telling(name)).flatMap(([name, v]) => {
    const b = el("button", { type: "button", textContent: short(v), title: `${v}: only items with this ${name}`, onclick: () => narrow(name, "=", v) });
    return [el("dt", { textContent: name }), el("dd", {}, b)];
  }));
  // percent writes a probability without pretending certainty, as the program does.
  const percent = p => p < 0.001 ? "under 0.1\u00a0%" : p > 0.999 ? "over 99.9\u00a0%" : `${(100 * p).toFixed(p < 0.01 || p > 0.99 ? 1 : 0)}\u00a0%`;
  const list = (answer, named, both) => {
    const box = el("div", { className: "list" });
    if (named) {
      const c = collectionOf(answer.gallery);
      box.append(el("h2", { textContent: `${answer.gallery}${c.network ? ` (${c.network})` : ""}` }));
    }
    if (answer.notes) {
      box.append(el("div", { className: "notes" }, el("ul", {}, ...answer.notes.map(n => el("li", { textContent: n.replaceAll(" %", "\u00a0%") })))));
    }
    const same = (answer.itself ?? []).map((id, i) => ({ id, label: answer.itself_labels[i] })).filter(it => it.id !== answer.query);
    if (same.length) {
      const few = same.slice(0, 5).flatMap(({ id, label }) => [label ? ` ${label}, ` : " ", el("button", { type: "button", textContent: id, onclick: () => walk(id) })]);
      const differ = new Set(answer.itself_labels).size > 1 ? ": the labels differ" : "";
      box.append(el("p", { className: "itself" }, "This very picture is here:", ...few, same.length > 5 ? ` and ${number(same.length - 5)} more` : "", differ));
    }
    if (!answer.neighbours.length) box.append(el("p", { textContent: state.filter ? "No other item passes this filter." : "There is no other item." }));
    const hits = el("ul", { className: "hits" });
    for (const [i, h] of answer.neighbours.entries()) {
      // Without a calibration only the distance is shown.
      const far = `distance ${short(h.distance)}`, equal = h.distance < 1e-6 && answer.distance !== "dot";
      const said = h.same === undefined ? [far] : [h.itself ? "this very picture" : equal ? "an equal embedding" : `the same: ${percent(h.same)}`, far];
      if (h.count > 1) said.push(`and ${number(h.count - 1)} more of ${h.label || "its group"}`);
      hits.append(tile(h, answer.gallery, i, said, both(h.id)));
    }
    box.append(hits);
    if (!answer.notes && answer.neighbours.length) box.append(el("button", { type: "button", textContent: "Why these?", onclick: () => { why = true; refresh(); } }));
    return box;
  };
  // tile is an item among others: a click looks for what is near it.
  const tile = (h, collection, i, said, both) => {
    const frame = el("span", { className: "thumb" });
    const img = el("img", { alt: "", loading: "lazy", decoding: "async", onerror: () => frame.replaceChildren("no picture") });
    frame.append(img);
    if (h.path) show(img, item(h.id, "/thumbnail", collection)); else img.onerror();
    const name = nameOf(h);
    const hit = el("button", { type: "button", className: "hit", title: `${h.path || h.id}: look for what is near it`, onclick: () => walk(h.id) }, frame,
      ...said.slice(0, 1).map(textContent => el("b", { textContent })), ...said.slice(1).map(textContent => el("small", { textContent })), el("small", { textContent: name }));
    hit.setAttribute("aria-label", [`${i + 1}: ${name}`, ...said, ...(both ? ["found by both"] : [])].join(", "));
    hit.dataset.id = h.id;
    return el("li", { className: both ? "both" : "" }, hit, columns(h.columns));
  };
  let why = false;

  // --- filters ---
  const literal = v => typeof v === "string" ? `"${v.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"` : String(v);
  const word = name => /^[A-Za-z_][\w.-]*$/.test(name) && !/^(and|or|not|in|is|missing|true|false)$/i.test(name) ? name : `\`${name}\``;
  const narrow = (name, op, v) => {
    const term = `${word(name)} ${op} ${literal(v)}`;
    go({ filter: state.filter && !state.filter.includes(term) ? `(${state.filter}) and ${term}` : term });
  };
  $("filters").addEventListener("submit", e => { e.preventDefault(); go({ filter: $("filter").value.trim(), k: $("k").value, arrange: $("arrange").value }); });
  for (const name of ["k", "arrange"]) $(name).addEventListener("change", () => go({ [name]: $(name).value }));
  $("add").addEventListener("click", () => {
    const column = collectionOf(state.collection).columns.find(c => c.name === $("column").value), text = $("value").value.trim();
    if (!column || !text) return;
    narrow(column.name, $("op").value, column.kind === "text" ? text : column.kind === "bool" ? text === "true" : +text);
  });

  // example shows a filter with the collection's own columns and values, and an id, as placeholders.
  let exampleOf = "";
  const example = async c => {
    if (exampleOf === c.name) return;
    exampleOf = c.name;
    $("filter").placeholder = $("id").placeholder = "";
    let items;
    try { items = (await (await ask(of("v1/items", c.name, { limit: 20, ...(c.browse && { seed: 1 }) }))).json()).items; } catch { return; } // the wall says it
    if (exampleOf !== c.name || !items.length) return;
    $("id").placeholder = items[0].id;
    const terms = [];
    for (const x of [...c.columns].filter(x => telling(x.name)).sort((a, b) => (b.name === c.label) - (a.name === c.label))) {
      const values = items.map(it => it.columns?.[x.name]).filter(v => v !== undefined && String(v).length <= 24).sort((a, b) => a < b ? -1 : +(a > b));
      if (values.length) terms.push(x.kind === "bool" ? word(x.name) : `${word(x.name)} ${x.kind === "number" ? "<" : "="} ${literal(values[values.length >> 1])}`);
    }
    $("filter").placeholder = terms.slice(0, 2).join(" and ") || `id = ${literal(items[0].id)}`;
  };

  // --- collections ---
  const about = () => {
    const c = collectionOf(state.collection);
    $("about").textContent = `${number(c.items)} items in ${c.name}${c.network ? `, embedded by ${c.network}` : ""}`;
    tellFollowing();
  };
  const describe = () => {
    const c = collectionOf(state.collection);
    about();
    $("drop").querySelectorAll("#choose label, #drop > p").forEach(e => { e.hidden = !c.uploads; });
    $("or").textContent = `${c.uploads ? "or " : ""}${c.words ? "words, or " : ""}an item’s id`.replace(/^./, first => c.uploads ? first : first.toUpperCase());
    $("column").replaceChildren(...c.columns.map(x => el("option", { textContent: x.name })));
    $("builder").hidden = !c.columns.length;
    if (mapOf && mapOf !== c.name) closeMap();
    example(c);
  };
  $("collection").addEventListener("change", () => go({ collection: $("collection").value }));
  $("versus").addEventListener("change", () => go({ versus: $("versus").value }));

  // --- a folder that a collection follows ---
  const following = f => ({
    comparing: () => "comparing",
    embedding: () => `${number(f.embedded)} of ${number(f.to_embed)} photo${f.to_embed === 1 ? "" : "s"} embedded`,
    current: () => `up to date at ${new Date(f.current).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}`,
    failed: () => `failed: ${f.error}`,
  })[f.state]();
  const tellFollowing = () => {
    const f = collectionOf(state.collection).following;
    $("following").hidden = !f;
    $("following").textContent = f ? `Following ${f.folder}: ${following(f)}` : "";
  };
  // watchFolder asks again from time to time, while the page is seen.
  const watchFolder = async () => {
    while (info.collections.some(c => c.following)) {
      await wait(info.collections.some(c => /^(comparing|embedding)$/.test(c.following?.state)) ? 1000 : 10000);
      if (document.hidden) continue;
      try { info = await (await ask("v1/info")).json(); } catch { continue; } // requests of the reader show errors
      about();
    }
  };

  // --- the map ---
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
    if (c.kind !== "number") return { names: c.classes, ...looks(c.classes.length), of: Int32Array.from(c.of) };
    let [lo, hi] = [Infinity, -Infinity];
    for (const v of c.numbers) if (v !== null) { lo = Math.min(lo, v); hi = Math.max(hi, v); }
    const n = hi > lo ? ramp.length : 1, edge = i => short(lo + (hi - lo) * i / n);
    return {
      names: Array.from({ length: n }, (_, i) => n > 1 ? `${edge(i)} to ${edge(i + 1)}` : short(lo)), colours: ramp.slice(0, n), shapes: Array(n).fill(0),
      of: Int32Array.from(c.numbers, v => v === null ? -1 : hi > lo ? Math.min(n - 1, Math.floor(n * (v - lo) / (hi - lo))) : 0),
    };
  };
  const wait = ms => new Promise(done => setTimeout(done, ms));
  let mapOf = "";
  const closeMap = () => {
    mapOf = "";
    $("mapPlace").replaceChildren();
    $("mapStatus").textContent = "";
    $("showMap").textContent = "Show the map of all items";
    $("showMap").setAttribute("aria-expanded", "false");
  };
  const openMap = async () => {
    const name = mapOf = state.collection, here = () => mapOf === name;
    $("showMap").textContent = "Hide the map";
    $("showMap").setAttribute("aria-expanded", "true");
    let m;
    for (;;) {
      m = await (await ask(of("v1/map", name))).json();
      if (!here() || m.state !== "computing") break;
      $("mapStatus").textContent = "The map is being computed …";
      await wait(700);
    }
    if (!here()) return;
    if (m.state === "failed") throw new Error(m.error || "the map could not be computed");
    const version = m.version;
    const place = new Float32Array(await (await ask(of("v1/map/points", name, { version }))).arrayBuffer()), ids = [];
    while (ids.length < m.items) {
      const part = (await (await ask(of("v1/map/ids", name, { version, from: ids.length }))).json()).ids;
      if (!part.length) break;
      for (const id of part) ids.push(id);
    }
    const c = collectionOf(name);
    const all = c.columns.filter(x => telling(x.name)).map(x => ({
      name: x.name, read: async () => classed(await (await ask(of("v1/map/column", name, { version, name: x.name }))).json()),
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
        show(img, item(ids[i], "/thumbnail", name));
        return [el("div", { className: "photo" }, img)];
      },
      more: i => [el("button", { type: "button", className: "button-search", textContent: "Look for what is near", onclick: () => { walk(ids[i]); scrollTo({ top: 0 }); } })],
    });
    const how = { tsne: `${m.placed < m.items ? `a sample of ${number(m.placed)} ` : ""}by t-SNE, in which only neighbourhoods have a meaning${m.placed < m.items ? ", the others beside their nearest sampled items" : ""}`, plain: "the two dimensions of the embedding" }[m.method] ?? m.method;
    $("mapStatus").textContent = `${number(ids.length)} items, ${how}${m.stale ? "; items have changed since" : ""}.`;
  };
  $("showMap").addEventListener("click", async () => {
    if (!info) return; // the collections are not known yet
    if (mapOf) { closeMap(); return; }
    try { await openMap(); } catch (e) { closeMap(); $("mapStatus").textContent = e.message; }
  });

  // --- keys ---
  addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea, canvas, dialog, #crop")) return;
    const hits = [...document.querySelectorAll(".hit")], i = hits.indexOf(document.activeElement);
    const row = hits.length ? Math.max(1, hits.findIndex(h => h.offsetTop > hits[0].offsetTop)) : 1;
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: row, ArrowUp: -row }[e.key];
    if (by && hits.length) {
      e.preventDefault();
      hits[i < 0 ? 0 : clamp(i + by, 0, hits.length - 1)].focus();
    } else if (e.key === "/") { e.preventDefault(); $("filter").focus(); }
    else if (e.key === "o") $("file").click();
    else if (e.key === "m") $("showMap").click();
    else if (e.key === "Backspace") { e.preventDefault(); history.back(); }
  });

  (async () => {
    try {
      info = await (await ask("v1/info")).json();
      if (info.review) {
        if (!info.collections.length) { location.replace("review"); return; }
        $("toReview").hidden = false;
        $("toReview").querySelector("a").textContent = info.review;
      }
      const options = () => info.collections.map(c => el("option", { value: c.name, textContent: c.name }));
      $("collection").replaceChildren(...options());
      $("versus").replaceChildren(el("option", { value: "", textContent: "nothing" }), ...options());
      $("collectionLabel").hidden = $("versusLabel").hidden = info.collections.length < 2;
      state = read();
      refresh();
      watchFolder();
      if (history.state?.photo !== undefined && state.photo === undefined) fail(new Error("The page was loaded again and has not kept your photo: choose it again."));
    } catch (e) { fail(e); }
  })();
}
