// Photos that are looked up: dropped, pasted, chosen or taken, and the parts of them that the reader draws. The server
// keeps an uploaded photo under its digest, which is in the address.
import { $, clamp, el } from "./text.js";
import { collectionOf, fail, go, itemPath, json, page, photo as looked } from "./state.js";

const { ask, show } = kindredServer;

const originals = new Map(); // the photos of this tab, by the digest of what was sent

// --- what the server gets ---
// cut returns a part of a photo, upright. A whole photo is sent as it is, so that the server can tell whether it is the
// picture of an item. A part of it, and a file that is larger than the server takes, is reduced to a size at which the
// network still gets the same: the longer side to long pixels, but the shorter side to no less than half of that. A
// file that the browser cannot read is sent as it is.
const cut = async (blob, crop, long) => {
  if (!crop && blob.size < page.info.limits.body_bytes - 4096) return blob; // the form takes some bytes
  let whole;
  try { whole = await createImageBitmap(blob, { colorSpaceConversion: "none" }); } catch (e) { if (crop) throw e; return blob; }
  const { x, y, w, h } = crop ?? { x: 0, y: 0, w: 1, h: 1 }, [pw, ph] = [w * whole.width, h * whole.height];
  const scale = Math.min(1, Math.max(long / Math.max(pw, ph), long / 2 / Math.min(pw, ph)));
  const canvas = el("canvas", { width: Math.max(1, Math.round(scale * pw)), height: Math.max(1, Math.round(scale * ph)) }), g = canvas.getContext("2d");
  g.imageSmoothingQuality = "high";
  g.drawImage(whole, x * whole.width, y * whole.height, pw, ph, 0, 0, canvas.width, canvas.height);
  whole.close();
  return new Promise(done => canvas.toBlob(done, "image/jpeg", 0.92));
};
const long = () => Math.max(1024, ...page.info.collections.map(c => 4 * (c.side ?? 0)));
const keep = async blob => {
  const form = new FormData();
  form.set("image", blob, "photo");
  return (await json("v1/pictures", { method: "POST", body: form })).picture;
};
// lookFor looks for a photo of the reader's.
export const lookFor = async blob => {
  const before = $("status").textContent;
  $("error").hidden = true;
  $("status").textContent = "The photo is sent …";
  try {
    const digest = await keep(await cut(blob, null, long()));
    originals.set(digest, blob);
    go(looked(digest));
  } catch (e) { $("status").textContent = before; fail(e); }
};
const original = async digest => {
  if (!originals.has(digest)) originals.set(digest, await (await ask(`v1/pictures/${digest}`)).blob());
  return originals.get(digest);
};
const gone = () => new Error("The server no longer keeps the photo of this link: choose it again.");
// withPicture asks with the photo of a state: ask gets its digest, or the drawn part as a file. A photo that the server
// has forgotten is sent again, if this tab has it.
const parts = new Map();
export const withPicture = async (s, ask) => {
  try {
    if (!s.crop) return await ask({ picture: s.picture });
    const name = `${s.picture} ${s.crop}`;
    if (!parts.has(name)) parts.set(name, await cut(await original(s.picture), cropOf(s), long()));
    return await ask({ file: parts.get(name) });
  } catch (e) {
    if (e.status !== 404) throw e;
    const blob = originals.get(s.picture);
    if (!blob || await keep(await cut(blob, null, long())) !== s.picture) throw gone();
    return ask({ picture: s.picture });
  }
};

// --- choosing ---
// A browser does not know the type of every picture (HEIC), so the server decides what a file is.
const take = files => lookFor([...files].find(f => f.type.startsWith("image/")) ?? files[0]);
for (const input of [$("file"), $("camera")]) {
  input.addEventListener("change", () => { if (input.files.length) take(input.files); input.value = ""; });
}
// pressable lets keys press the label of a file input.
export const pressable = input => input.closest(".button").addEventListener("keydown", e => {
  if (e.key === "Enter" || e.key === " ") { e.preventDefault(); input.click(); }
});
for (const input of document.querySelectorAll(".button input[type=file]")) pressable(input);
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
    const to = document.querySelector("dialog[open] .drop") ?? $("drop");
    to.classList.toggle("over", kind === "dragover");
    if (kind !== "drop" || !e.dataTransfer.files.length) return;
    if (to === $("drop")) take(e.dataTransfer.files); else to.dispatchEvent(new CustomEvent("files", { detail: [...e.dataTransfer.files] }));
  });
}

// --- the part of a photo that is looked for ---
let drawn = null; // where a drag over the photo began, and where it is
const cropOf = s => { const [x, y, w, h] = s.crop.split(",").map(Number); return s.crop ? { x, y, w, h } : null; };
const place = crop => {
  $("part").hidden = !crop;
  $("whole").hidden = !crop;
  if (!crop) return;
  const [w, h] = [$("shown").clientWidth, $("shown").clientHeight];
  Object.assign($("part").style, { left: `${crop.x * w}px`, top: `${crop.y * h}px`, width: `${crop.w * w}px`, height: `${crop.h * h}px` });
};
const at = e => { const b = $("shown").getBoundingClientRect(); return [clamp((e.clientX - b.left) / b.width, 0, 1), clamp((e.clientY - b.top) / b.height, 0, 1)]; };
const between = ([ax, ay], [bx, by]) => ({ x: Math.min(ax, bx), y: Math.min(ay, by), w: Math.abs(ax - bx), h: Math.abs(ay - by) });
// crop looks for a part; a step of its own in the history.
const crop = part => go({ crop: part ? [part.x, part.y, part.w, part.h].map(v => +v.toFixed(4)).join() : "" });
$("crop").addEventListener("pointerdown", e => {
  if (!page.state.picture) return;
  e.preventDefault();
  $("crop").focus();
  $("crop").setPointerCapture(e.pointerId);
  drawn = { from: at(e) };
});
$("crop").addEventListener("pointermove", e => { if (drawn) { drawn.part = between(drawn.from, at(e)); place(drawn.part); } });
$("crop").addEventListener("pointerup", () => {
  const part = drawn?.part;
  drawn = null;
  if (part && part.w > 0.03 && part.h > 0.03) crop(part); else if (page.state.picture) place(cropOf(page.state));
});
$("crop").addEventListener("pointercancel", () => { drawn = null; });
$("whole").addEventListener("click", () => crop(null));
let settle = 0; // a moment after the last key the part is looked for
$("crop").addEventListener("keydown", e => {
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key] ?? [0, 0];
  if (!page.state.picture || !(dx || dy || e.key === "Escape")) return;
  e.preventDefault();
  e.stopPropagation();
  if (e.key === "Escape") { if (page.state.crop) crop(null); return; }
  const c = { ...(drawn?.part ?? cropOf(page.state) ?? { x: 0.2, y: 0.2, w: 0.6, h: 0.6 }) }, by = 0.04;
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
addEventListener("resize", () => { if (page.state.picture) place(cropOf(page.state)); });
// An item's own picture can be cropped too: it becomes a photo of the reader's.
$("cut").addEventListener("click", async () => {
  try { await lookFor(await (await ask(itemPath(page.state.id, "/picture", page.state.collection))).blob()); $("crop").focus(); } catch (e) { fail(e); }
});

// picture prepares an img; without a picture it is hidden.
export const picture = (img, alt, loaded) => {
  img.removeAttribute("src");
  img.alt = alt;
  $("crop").hidden = false;
  img.onload = () => loaded?.();
  img.onerror = () => { $("crop").hidden = $("cut").hidden = true; };
};
// showPhoto shows the photo of a state that is looked up.
let shown = "";
export const showPhoto = s => {
  place(null);
  if (shown === s.picture && !$("query").hidden) { place(cropOf(s)); return; }
  shown = s.picture;
  $("cut").hidden = true;
  $("query").hidden = false;
  picture($("shown"), "your photo", () => place(cropOf(page.state)));
  $("of").textContent = "Your photo. Draw over it to look for a part of it.";
  const mine = originals.get(s.picture);
  if (mine) $("shown").src = URL.createObjectURL(mine); else show($("shown"), `v1/pictures/${s.picture}`);
};
export const forgetPhoto = () => { shown = ""; place(null); };
