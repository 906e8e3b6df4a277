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
    for (;;) {
      const used = key;
      const answer = await fetch(path, { ...options, headers: { ...options.headers, ...(used ? { Authorization: `Bearer ${used}` } : {}) } });
      if (answer.status === 401) {
        if (sessionStorage.getItem(kept) === used) sessionStorage.removeItem(kept);
        if (used !== key || await askKey(used !== "")) continue;
      } else if (used) sessionStorage.setItem(kept, used);
      if (answer.ok) return answer;
      const p = await answer.json().catch(() => ({})), detail = p.detail || `the server answered ${answer.status}`;
      throw Object.assign(new Error([detail, p.fix].filter(Boolean).join(". ")), { status: answer.status, code: p.code, detail, fix: p.fix });
    }
  };
  // show puts a picture into an img. With a key it cannot fetch by itself.
  const show = async (img, address) => {
    if (!key) { img.src = address; return; }
    try { img.src = URL.createObjectURL(await (await ask(address)).blob()); } catch { img.dispatchEvent(new Event("error")); }
  };
  return { ask, show };
})();
