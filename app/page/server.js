"use strict";
// Requests of a page to its server, with the key that the reader has typed. The tab keeps
// the key.
const kindredServer = (() => {
  const kept = "kindred-key";
  let key = sessionStorage.getItem(kept) || "";
  const askKey = () => new Promise(done => {
    const box = document.createElement("dialog");
    box.id = "keyDialog";
    box.setAttribute("aria-labelledby", "keyTitle");
    box.innerHTML = `<form method="dialog"><p id="keyTitle"><b>This server asks for a key</b></p><p class="row">
      <label>Key <input id="key" type="password" autocomplete="off"></label><button>Go on</button></p></form>`;
    box.onclose = () => {
      key = box.querySelector("input").value.trim();
      sessionStorage.setItem(kept, key);
      box.remove();
      done();
    };
    document.body.append(box);
    box.showModal();
  });
  // ask returns an answer, or throws the server's message and advice with the answer's
  // status and code.
  const ask = async (path, options = {}) => {
    for (let tries = 0; ; tries++) {
      const headers = { ...options.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
      const answer = await fetch(path, { ...options, headers });
      if (answer.ok) return answer;
      if (answer.status === 401 && tries < 3) { await askKey(); continue; }
      const p = await answer.json().catch(() => ({}));
      const text = [p.detail || `the server answered ${answer.status}`, p.fix].filter(Boolean).join(". ");
      throw Object.assign(new Error(text), { status: answer.status, code: p.code });
    }
  };
  // show puts a picture into an img. With a key it cannot fetch by itself.
  const show = async (img, address) => {
    if (!key) { img.src = address; return; }
    try { img.src = URL.createObjectURL(await (await ask(address)).blob()); } catch { img.dispatchEvent(new Event("error")); }
  };
  return { ask, show };
})();
