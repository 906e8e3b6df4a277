"use strict";
// Rows of pictures: a click, or Enter, shows a picture large beside its query.
// Left and right go through the row; Escape, or a click beside it, closes.
{
  const viewer = document.createElement("dialog");
  viewer.className = "viewer";
  const panes = document.createElement("div");
  const bar = document.createElement("p");
  const [back, forth, close] = [["‹", "Previous"], ["›", "Next"], ["×", "Close"]].map(([sign, label]) => {
    const b = document.createElement("button");
    b.type = "button";
    b.textContent = sign;
    b.setAttribute("aria-label", label);
    return b;
  });
  bar.append(back, forth, close);
  viewer.append(panes, bar);
  let row = [], at = 0;

  // enlarge returns a copy of a picture, with the whole photo if that loads.
  const enlarge = pic => {
    const big = pic.cloneNode(true);
    const button = big.querySelector(".zoom");
    const img = big.querySelector("img");
    if (button.dataset.full && img) {
      const whole = new Image();
      whole.onload = () => { img.src = whole.src; big.classList.remove("tiny"); };
      whole.src = button.dataset.full;
    }
    if (img) img.loading = "eager";
    button.replaceWith(...button.childNodes);
    for (const name of big.querySelectorAll(".name")) name.textContent = name.title;
    return big;
  };
  const show = i => {
    at = Math.min(Math.max(i, 0), row.length - 1);
    panes.replaceChildren(enlarge(row[0]), ...(at > 0 ? [enlarge(row[at])] : []));
    back.disabled = at === 0;
    forth.disabled = at === row.length - 1;
  };
  back.addEventListener("click", () => show(at - 1));
  forth.addEventListener("click", () => show(at + 1));
  close.addEventListener("click", () => viewer.close());
  viewer.addEventListener("click", e => { if (e.target === viewer) viewer.close(); });
  viewer.addEventListener("close", () => row[at].querySelector(".zoom").focus());
  viewer.addEventListener("keydown", e => {
    if (e.key === "ArrowLeft") show(at - 1);
    if (e.key === "ArrowRight") show(at + 1);
  });

  for (const button of document.querySelectorAll(".retrieval .zoom")) {
    button.addEventListener("click", () => {
      const pic = button.closest(".pic");
      row = [...pic.closest(".row").querySelectorAll(".pic")];
      if (!viewer.isConnected) document.body.append(viewer);
      show(row.indexOf(pic));
      viewer.showModal();
    });
  }
}
