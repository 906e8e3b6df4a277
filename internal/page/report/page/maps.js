"use strict";
// The maps of the page; their data are beside their pictures.
{
  const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
  const build = figure => {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const photos = data.photos && JSON.parse(document.getElementById(data.photos).textContent);
    const sheets = [], sizes = photos ? bytes(photos.sizes) : null;
    const sheetURL = s => sheets[s] = sheets[s] || URL.createObjectURL(new Blob([bytes(photos.sheets[s])], { type: photos.type }));
    const photo = (i, room, pinned) => {
      const box = kindredMap.el("div", { className: "photo" });
      const [w, h] = sizes ? [sizes[2 * i], sizes[2 * i + 1]] : [0, 0];
      if (!w) return [];
      const { side, across } = photos, cells = across * across;
      const at = i % cells, k = room / Math.max(w, h);
      Object.assign(box.style, {
        width: `${w * k}px`, height: `${h * k}px`, backgroundImage: `url(${sheetURL(Math.floor(i / cells))})`,
        backgroundSize: `${side * across * k}px`, backgroundPosition: `${-(at % across) * side * k}px ${-Math.floor(at / across) * side * k}px`,
      });
      if (k >= 3) box.style.imageRendering = "pixelated";
      if (pinned && data.names && data.folder) {
        const whole = new Image();
        whole.onload = () => box.replaceWith(kindredMap.el("div", { className: "photo" }, whole));
        whole.src = data.folder + data.names[i].split("/").map(encodeURIComponent).join("/");
      }
      return [box];
    };
    kindredMap.build(figure, {
      ...data, photo, place: new Float32Array(bytes(data.at).buffer),
      columns: data.columns.map(c => ({ ...c, of: new Int32Array(bytes(c.of).buffer) })),
    });
  };
  // A map is built when it comes near the screen: a page may hold many.
  if (kindredMap.works) {
    const watch = new IntersectionObserver(seen => {
      for (const s of seen) if (s.isIntersecting) { watch.unobserve(s.target); build(s.target); }
    }, { rootMargin: "400px" });
    for (const figure of document.querySelectorAll("figure.map")) watch.observe(figure);
  }
}
