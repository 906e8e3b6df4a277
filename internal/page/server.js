"use strict";
// Requests of a page to its server, with the key that the reader has typed. The tab keeps
// a key that the server knows.
const kindredServer = (() => {
  const kept = "kindred-key";
  let key = sessionStorage.getItem(kept) || "", asking = null;
  // askKey asks the reader, once for all requests that wait, and promises whether there is an answer.
  const askKey = wrong => asking ??= new Promise(done => {
    const box = document.createElement("dialog");
    box.id = "keyDialog";
    box.setAttribute("aria-labelledby", "keyTitle");
    box.innerHTML = `<form method="dialog"><p id="keyTitle"><b>This server asks for a key</b></p><p id="keyWrong" role="alert" hidden>The key is wrong: the server does not know it.</p>
      <p class="row"><label>Key <input id="key" type="password" autocomplete="off" required></label><button value="typed">Go on</button></p></form>`;
    box.querySelector("#keyWrong").hidden = !wrong;
    box.onclose = () => {
      if (box.returnValue === "typed") key = box.querySelector("input").value.trim();
      box.remove();
      asking = null;
      done(box.returnValue === "typed");
    };
    document.body.append(box);
    box.showModal();
  });
  // ask returns an answer, or throws the server's message and advice with the answer's
  // status and code.
  const ask = async (path, options = {}) => {
    for (let tries = 0; ; tries++) {
      const used = key;
      const answer = await fetch(path, { ...options, headers: { ...options.headers, ...(used ? { Authorization: `Bearer ${used}` } : {}) } });
      if (answer.status === 401) {
        if (sessionStorage.getItem(kept) === used) sessionStorage.removeItem(kept);
        if (used !== key || await askKey(used !== "")) continue;
      } else if (used) sessionStorage.setItem(kept, used);
      if (answer.ok) return answer;
      // Too many requests at once: the server says when to try again.
      const later = answer.headers.get("Retry-After");
      if (later !== null && later <= 10 && tries < 5) { await new Promise(done => setTimeout(done, 1000 * later)); continue; }
      const p = await answer.json().catch(() => ({})), detail = p.detail || `the server answered ${answer.status}`;
      throw Object.assign(new Error([detail, p.fix].filter(Boolean).join(". ")), { status: answer.status, code: p.code, detail, fix: p.fix });
    }
  };
  const load = async (img, address) => {
    try { img.src = URL.createObjectURL(await (await ask(address)).blob()); } catch { img.dispatchEvent(new Event("error")); return; }
    img.addEventListener("load", () => URL.revokeObjectURL(img.src), { once: true });
  };
  // show puts a picture into an img, whose onerror is called without one. An img cannot fetch by itself with a key, and
  // it does not try again if there were too many requests.
  const show = (img, address) => {
    if (key) return load(img, address);
    const failed = img.onerror;
    img.onerror = () => { img.onerror = failed; load(img, address); };
    img.src = address;
  };
  return { ask, show };
})();
