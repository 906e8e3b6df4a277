"use strict";
// Figures with values under the pointer. Beside the drawing are the positions of its
// values in the drawing's units: curves with their values, or points with a text each.
// Left and right go through the values of a focused figure.
{
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const put = (x, y) => {
    const w = tip.offsetWidth, h = tip.offsetHeight;
    const left = x + 14 + w > innerWidth ? x - 14 - w : x + 14;
    tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.min(Math.max(4, y - h - 10), innerHeight - h - 4)}px)`;
  };
  const line = (text, colour) => {
    const p = document.createElement("p");
    if (colour) {
      const swatch = document.createElement("i");
      swatch.style.background = colour;
      p.append(swatch);
    }
    p.append(text);
    return p;
  };

  const build = drawing => {
    const svg = drawing.querySelector("svg");
    const data = JSON.parse(drawing.querySelector("script").textContent);
    const curves = data.curves || [], points = data.points || [];
    const layer = document.createElementNS("http://www.w3.org/2000/svg", "g");
    const shape = (name, attributes) => {
      const e = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
      layer.append(e);
    };
    layer.classList.add("pointed");
    svg.append(layer);
    svg.tabIndex = 0;

    const lit = (c, width) => {
      const outline = c.x.map((x, i) => `${x},${c.y[i]}`).join(" ");
      shape("polyline", { points: outline, class: "under" });
      shape("polyline", { points: outline, class: "over", "stroke-width": width });
    };
    const dot = (x, y, colour) => shape("circle", { cx: x, cy: y, r: 3.4, fill: colour });
    const clear = () => { layer.replaceChildren(); tip.hidden = true; };
    // say shows the texts at a place of the drawing.
    const say = (x, y, ...texts) => {
      tip.replaceChildren(...texts);
      tip.hidden = false;
      const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
      put(box.left + x * box.width / view.width, box.top + y * box.height / view.height);
    };
    const nearestOf = (xs, ys, x, y, stretch = 1) => {
      let best = -1, least = Infinity;
      xs.forEach((v, i) => {
        const d = ((v - x) / stretch) ** 2 + (ys ? (ys[i] - y) ** 2 : 0);
        if (d < least) [least, best] = [d, i];
      });
      return [best, least];
    };
    // crowd: of many curves the nearest one is shown, else all at the nearest x.
    const crowd = curves.some(c => c.quiet);
    const showCurve = (c, i) => {
      layer.replaceChildren();
      lit(c, 2.2);
      dot(c.x[i], c.y[i], "var(--lit)");
      say(c.x[i], c.y[i], line(c.name), line(`${data.x} ${c.at[i]}: ${c.value[i]}`));
    };
    const showColumn = at => {
      layer.replaceChildren();
      const here = curves.map(c => [c, c.x.findIndex(x => Math.abs(x - at) < 0.6)]).filter(([, i]) => i >= 0);
      if (!here.length) return;
      const view = svg.viewBox.baseVal;
      shape("line", { x1: at, x2: at, y1: 0, y2: view.height, class: "guide" });
      for (const [c, i] of here) dot(c.x[i], c.y[i], c.colour);
      const [c, i] = here[0];
      say(at, Math.min(...here.map(([c, i]) => c.y[i])), line(`${data.x} ${c.at[i]}`), ...here.map(([c, i]) => line(`${c.name} ${c.value[i]}`, c.colour)));
    };
    const columns = [...new Set(curves.flatMap(c => c.x))].sort((a, b) => a - b);
    const showPoint = i => {
      layer.replaceChildren();
      shape("circle", { cx: points[i].x, cy: points[i].y, r: 6, class: "around" });
      say(points[i].x, points[i].y, line(points[i].text));
    };

    const point = e => {
      const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
      const x = (e.clientX - box.left) * view.width / box.width, y = (e.clientY - box.top) * view.height / box.height;
      if (points.length) {
        const [i, d] = nearestOf(points.map(p => p.x), points.map(p => p.y), x, y);
        d < 250 ? showPoint(i) : clear();
      } else if (crowd) {
        let best = null, least = 400;
        for (const c of curves) {
          const [i, d] = nearestOf(c.x, c.y, x, y, 3);
          if (d < least) [least, best] = [d, [c, i]];
        }
        best ? showCurve(...best) : clear();
      } else showColumn(columns[nearestOf(columns, null, x, 0)[0]]);
    };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    // After a tap the values stay until another place is tapped.
    svg.addEventListener("pointerleave", e => { if (e.pointerType === "mouse") clear(); });
    svg.addEventListener("blur", clear);
    let at = -1;
    svg.addEventListener("keydown", e => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
      if (e.key === "Escape") clear();
      if (!by) return;
      e.preventDefault();
      const n = points.length || (crowd ? curves.length : columns.length);
      at = (at + by + n) % n;
      if (points.length) showPoint(at);
      else if (crowd) showCurve(curves[at], 0);
      else showColumn(columns[at]);
    });

    // A curve among many is also found by its name.
    if (crowd) {
      const find = document.createElement("input");
      find.type = "search";
      find.placeholder = `Find one of ${curves.length} by name`;
      find.setAttribute("aria-label", find.placeholder);
      find.addEventListener("input", () => {
        const text = find.value.trim().toLowerCase();
        const c = text && curves.find(c => c.name.toLowerCase().includes(text));
        c ? showCurve(c, c.x.length >> 1) : clear();
      });
      find.addEventListener("blur", clear);
      drawing.after(find);
    }
  };
  for (const drawing of document.querySelectorAll(".draw[data-chart]")) build(drawing);
}
