"use strict";
// Maps: points drawn by WebGL, with hover cards, a legend to search and filter,
// a lasso and the chosen items as CSV. Without WebGL the picture inside the figure
// stays, if there is one.
//
// kindredMap.build(figure, data) makes a map of a figure with a .stage in it. data:
//   place    x and y of the items in turn, a Float32Array; NaN: not shown
//   names    of the items, or null
//   columns  of labels: { name, names, colours, shapes, of } with the class of each
//            item in of, an Int32Array, -1: none, and perhaps short, a Map of the names as they are shown; or
//            { name, read } with a function that promises the rest, called when the column is first chosen
//   step     the items are every step-th row
//   file     name of the CSV without its ending
//   photo    photo(i, room, pinned) returns the elements of the card of item i
//   more     more(i) returns further elements of a card that is kept open
//   choose   choose(items) is told which items are in colour when the reader selects them; undefined: nothing selects
const kindredMap = (() => {
  // --- small helpers ---
  const el = (tag, props = {}, ...children) => {
    const e = Object.assign(document.createElement(tag), props);
    e.append(...children);
    return e;
  };
  // short shows a name whose middle is left out where there is little room.
  const short = (text, props = {}) => {
    const letters = [...text], cut = letters.length > 14 ? letters.length - 8 : letters.length;
    return el("span", { className: "name", ...props }, ...[letters.slice(0, cut), letters.slice(cut)].filter(p => p.length).
      map(p => el("span", { textContent: p.join("") })));
  };
  // csv writes rows of values as Go's encoding/csv does.
  const quote = s => /[",\r\n]|^\s|^\\\.$/.test(s) ? `"${s.replaceAll('"', '""')}"` : s;
  const csv = rows => rows.map(r => r.map(v => quote(String(v))).join() + "\n").join("");
  // save lets the browser save a text as a file.
  const save = (name, text) => {
    const link = el("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "text/csv" })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const clamp = (x, lo, hi) => Math.min(Math.max(x, lo), hi);
  const number = n => n.toLocaleString("en");
  // rgb turns a computed CSS colour, or #rrggbb, into three numbers.
  const rgb = css => css[0] === "#"
    ? [1, 3, 5].map(i => parseInt(css.slice(i, i + 2), 16))
    : css.match(/[\d.]+/g).slice(0, 3).map(Number);

  // --- drawing: one WebGL context for all maps of the page ---
  const vertexShader = `#version 300 es
    in vec2 at; in vec4 look; in float shape;
    uniform vec2 scale, shift; uniform float size;
    out vec4 colour; flat out int kind; flat out float side;
    void main() {
      gl_Position = vec4(at * scale + shift, 0.0, 1.0);
      gl_PointSize = size * 1.5 + 2.0;
      colour = look; kind = int(shape); side = gl_PointSize / size;
    }`;
  // The shapes are those of the figures; distances in units of the mark's radius.
  const fragmentShader = `#version 300 es
    precision highp float;
    in vec4 colour; flat in int kind; flat in float side;
    uniform float size; out vec4 paint;
    float edge(vec2 p, vec2 a, vec2 b) { vec2 d = b - a; return ((p.x-a.x)*d.y - (p.y-a.y)*d.x) / length(d); }
    float triangle(vec2 p) {
      vec2 a = vec2(0.0, 1.35), b = vec2(-1.2, -0.75), c = vec2(1.2, -0.75);
      return max(edge(p, a, b), max(edge(p, b, c), edge(p, c, a)));
    }
    void main() {
      vec2 p = (gl_PointCoord - 0.5) * side * vec2(2.0, -2.0);
      float d = length(p) - 1.0;
      if (kind == 1) d = triangle(p);
      else if (kind == 2) d = max(abs(p.x), abs(p.y)) - 0.9;
      else if (kind == 3) d = (abs(p.x) / 1.15 + abs(p.y) / 1.35 - 1.0) * 0.88;
      else if (kind == 4) d = triangle(vec2(p.x, -p.y));
      float soft = 2.0 / size;
      float a = colour.a * (1.0 - smoothstep(-0.5 * soft, 0.5 * soft, d));
      paint = vec4(colour.rgb * a, a);
    }`;
  const marks = ["M10 5a5 5 0 1 1-10 0a5 5 0 1 1 10 0", "M5 0L10 9H0z", "M.5 .5h9v9h-9z", "M5 0L10 5 5 10 0 5z", "M0 1h10L5 10z"];

  const painter = (() => {
    const gl = el("canvas").getContext("webgl2", { antialias: false, premultipliedAlpha: true });
    if (!gl) return null;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertexShader], [gl.FRAGMENT_SHADER, fragmentShader]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    ["at", "look", "shape"].forEach((name, i) => gl.bindAttribLocation(program, i, name));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      console.error(gl.getProgramInfoLog(program));
      return null;
    }
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const place = name => gl.getUniformLocation(program, name);
    const [scale, shift, size] = ["scale", "shift", "size"].map(place);
    return {
      // cloud keeps a map's points on the graphics processor.
      cloud(positions) {
        const array = gl.createVertexArray();
        gl.bindVertexArray(array);
        const fill = (slot, n, type, data) => {
          const buffer = gl.createBuffer();
          gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
          gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
          gl.enableVertexAttribArray(slot);
          gl.vertexAttribPointer(slot, n, type, slot === 1, 0, 0);
          return buffer;
        };
        const n = positions.length / 2;
        fill(0, 2, gl.FLOAT, positions);
        const looks = fill(1, 4, gl.UNSIGNED_BYTE, new Uint8Array(4 * n));
        const shapes = fill(2, 1, gl.UNSIGNED_BYTE, new Uint8Array(n));
        const order = gl.createBuffer();
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, order);
        return {
          paint(look, shape, sequence) {
            gl.bindVertexArray(array);
            gl.bindBuffer(gl.ARRAY_BUFFER, looks);
            gl.bufferData(gl.ARRAY_BUFFER, look, gl.DYNAMIC_DRAW);
            gl.bindBuffer(gl.ARRAY_BUFFER, shapes);
            gl.bufferData(gl.ARRAY_BUFFER, shape, gl.DYNAMIC_DRAW);
            gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, order);
            gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, sequence, gl.DYNAMIC_DRAW);
          },
          draw(canvas, view, from, points) {
            const { width, height } = canvas;
            if (gl.canvas.width !== width || gl.canvas.height !== height) Object.assign(gl.canvas, { width, height });
            gl.viewport(0, 0, width, height);
            gl.clearColor(0, 0, 0, 0);
            gl.clear(gl.COLOR_BUFFER_BIT);
            gl.bindVertexArray(array);
            gl.uniform2f(scale, 2 * view.scale / width, 2 * view.scale / height);
            gl.uniform2f(shift, -2 * view.scale * view.x / width, -2 * view.scale * view.y / height);
            gl.uniform1f(size, view.radius * 2);
            gl.drawElements(gl.POINTS, points, gl.UNSIGNED_INT, 4 * from);
            const flat = canvas.getContext("2d");
            flat.clearRect(0, 0, width, height);
            flat.drawImage(gl.canvas, 0, 0);
          },
        };
      },
      lost: () => gl.isContextLost(),
    };
  })();

  // --- one map ---
  const build = (figure, data) => {
    const { place, columns, names } = data, n = place.length / 2;
    const load = async c => { if (!c.of) Object.assign(c, await c.read()); };
    const loaded = () => columns.filter(c => c.of);
    const shown = i => place[2 * i] === place[2 * i] && place[2 * i + 1] === place[2 * i + 1];

    // The page's parts.
    const canvas = el("canvas", { tabIndex: 0 });
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", `Map of ${number(n)} items. Arrow keys move, plus and minus zoom, 0 shows all; ` +
      "n and p go through the items, Enter keeps the card open, Escape clears.");
    const trace = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    trace.classList.add("trace");
    trace.append(document.createElementNS("http://www.w3.org/2000/svg", "polygon"));
    const ring = el("div", { className: "ring", hidden: true });
    const card = el("div", { className: "card", hidden: true });
    card.setAttribute("aria-live", "polite");
    const tags = el("div", { className: "tags" });
    const tool = (text, title, act) => {
      const b = el("button", { type: "button", textContent: text, title, onclick: act });
      if (!/\w/.test(text)) b.setAttribute("aria-label", title);
      return b;
    };
    const lassoButton = tool("Lasso", "Draw around items to choose them (or hold Shift)", () => setLasso(!lasso));
    lassoButton.setAttribute("aria-pressed", "false");
    const zoom = el("div", { className: "tools" },
      tool("+", "Zoom in", () => zoomBy(1.6)), tool("−", "Zoom out", () => zoomBy(1 / 1.6)),
      tool("All", "Show the whole map", () => reset()), lassoButton);
    const stage = figure.querySelector(".stage");
    const still = stage.querySelector(".still");
    const choose = el("select", { onchange: async () => { await load(columns[choose.value]); column = +choose.value; picked.clear(); refresh(); } },
      ...columns.map((c, i) => el("option", { value: i, textContent: c.name })));
    const find = el("input", { type: "search", placeholder: names ? "Find a class or a file" : "Find a class", oninput: () => { search(); refresh(); } });
    find.setAttribute("aria-label", find.placeholder);
    const list = el("ul", { className: "legend" });
    const more = el("p", { className: "more" });
    const count = el("output");
    const clear = tool("Clear", "Show all items again", () => { find.value = ""; search(); picked.clear(); chosen = null; refresh(); });
    const store = tool("Save CSV", "Save the items in colour as a CSV file", () => saveCSV());
    const take = tool("Select", "Select the items in colour", () => data.choose(Array.from(bright.keys()).filter(i => bright[i])));
    const panel = el("div", { className: "panel" },
      el("label", { hidden: columns.length < 2 }, "Colour by ", choose),
      el("div", { hidden: !columns.length && !names }, find), list, more,
      el("div", { className: "status" }, count, clear, ...(data.choose ? [take] : []), store));

    // State.
    let column = 0, lit = -1, current = -1, pinned = false, lasso = false, chosen = null, found = null;
    const picked = new Set();
    const view = { x: 0, y: 0, scale: 1, radius: 3 };
    let home = view, bright = new Uint8Array(n), sequence = new Uint32Array(0);
    const ofClass = i => columns.length ? columns[column].of[i] : -1;
    const shownName = (c, k) => c.short?.get(c.names[k]) ?? c.names[k];
    const className = (c, i) => c.of[i] < 0 ? "none" : c.names[c.of[i]];

    // Points of all classes are mixed, so that no class covers the others because it comes last.
    const mixed = Uint32Array.from({ length: n }, (_, i) => i).filter(shown);
    for (let i = mixed.length - 1, seed = 1; i > 0; i--) {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      const j = seed % (i + 1);
      [mixed[i], mixed[j]] = [mixed[j], mixed[i]];
    }

    const cloud = painter.cloud(place);
    // If a frame of all points takes long, as without a graphics processor, a moving map
    // draws only some points, the coloured ones first. It draws all shortly after it stops.
    let planned = false, quick = n, stopped = 0;
    const draw = (all = false) => {
      if (planned) return;
      planned = true;
      requestAnimationFrame(begun => {
        planned = false;
        if (!canvas.width) return;
        const points = Math.min(sequence.length, all === true ? Infinity : Math.floor(quick));
        requestAnimationFrame(end => {
          const took = end - begun;
          if (took > 60) quick = Math.max(20000, Math.min(quick, points) * 30 / took); else if (points < sequence.length) quick *= 1.2;
        });
        clearTimeout(stopped);
        if (points < sequence.length) stopped = setTimeout(() => draw(true), 300);
        const ratio = canvas.width / canvas.clientWidth;
        const size = Math.min(1, Math.sqrt(canvas.clientWidth * canvas.clientHeight) / 700);
        const base = (n > 20000 ? 1.3 : n > 5000 ? 1.9 : n > 500 ? 2.6 : 3.6) * Math.sqrt(size);
        view.radius = clamp(base * Math.pow(view.scale / home.scale, 0.4), 1, 9) * ratio;
        cloud.draw(canvas, { ...view, scale: view.scale * ratio }, sequence.length - points, points);
        if (still) still.hidden = !painter.lost();
        placeCard();
        placeTags();
      });
    };
    const fit = () => {
      let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
      for (const i of mixed) {
        x0 = Math.min(x0, place[2 * i]); x1 = Math.max(x1, place[2 * i]);
        y0 = Math.min(y0, place[2 * i + 1]); y1 = Math.max(y1, place[2 * i + 1]);
      }
      const room = 0.92;
      const scale = Math.min(room * canvas.clientWidth / (x1 - x0 || 1), room * canvas.clientHeight / (y1 - y0 || 1));
      return { x: (x0 + x1) / 2 || 0, y: (y0 + y1) / 2 || 0, scale: Number.isFinite(scale) && scale > 0 ? scale : 1 };
    };
    const reset = () => { home = fit(); Object.assign(view, home); draw(); };
    // The place of a point on the canvas, and the point at a place.
    const toScreen = (x, y) => [(x - view.x) * view.scale + canvas.clientWidth / 2, (view.y - y) * view.scale + canvas.clientHeight / 2];
    const toData = (px, py) => [(px - canvas.clientWidth / 2) / view.scale + view.x, view.y - (py - canvas.clientHeight / 2) / view.scale];
    const zoomBy = (factor, px = canvas.clientWidth / 2, py = canvas.clientHeight / 2) => {
      const [x, y] = toData(px, py);
      view.scale = clamp(view.scale * factor, home.scale / 4, home.scale * 4000);
      const [nx, ny] = toData(px, py);
      view.x += x - nx;
      view.y += y - ny;
      draw();
    };
    const nearest = (px, py, reach) => {
      const [x, y] = toData(px, py);
      let best = -1, least = (reach / view.scale) ** 2;
      for (let i = 0; i < n; i++) {
        if (!bright[i]) continue;
        const d = (place[2 * i] - x) ** 2 + (place[2 * i + 1] - y) ** 2;
        if (d < least) [least, best] = [d, i];
      }
      return best;
    };

    // The lit items: the class under the pointer in the legend, else the items that
    // were searched, picked in the legend and chosen with the lasso.
    let lower = null;
    const search = () => {
      const text = find.value.trim().toLowerCase();
      found = null;
      if (!text) return;
      lower = lower || names && names.map(s => s.toLowerCase());
      const here = loaded(), classes = here.map(c => c.names.map(s => s.toLowerCase().includes(text)));
      found = new Uint8Array(n);
      for (let i = 0; i < n; i++) found[i] = lower && lower[i].includes(text) || here.some((c, k) => classes[k][c.of[i]]) ? 1 : 0;
    };
    const counted = i => shown(i) && (!found || found[i]) && (!chosen || chosen[i]);
    const isLit = i => lit >= 0 ? shown(i) && ofClass(i) === lit : counted(i) && (!picked.size || picked.has(ofClass(i)));
    const recolour = () => {
      const faint = rgb(getComputedStyle(trace).color), grey = [154, 160, 166];
      const style = columns.length ? columns[column].colours.map(rgb) : [[63, 144, 218]];
      const shapes = columns.length ? columns[column].shapes : [0];
      const look = new Uint8Array(4 * n), shape = new Uint8Array(n);
      const alpha = n > 20000 ? 160 : n > 1500 ? 190 : 217;
      let all = 0;
      for (let i = 0; i < n; i++) {
        bright[i] = isLit(i) ? 1 : 0;
        all += bright[i];
        const k = columns.length ? ofClass(i) : 0;
        const [r, g, b] = !bright[i] ? faint : k < 0 ? grey : style[k];
        look[4 * i] = r;
        look[4 * i + 1] = g;
        look[4 * i + 2] = b;
        look[4 * i + 3] = bright[i] ? alpha : 110;
        shape[i] = k < 0 ? 0 : shapes[k];
      }
      sequence = new Uint32Array(mixed.length);
      let at = 0;
      for (const on of [0, 1]) for (const i of mixed) if (bright[i] === on) sequence[at++] = i;
      cloud.paint(look, shape, sequence);
      findAnchors();
      draw();
      return all;
    };
    const refresh = () => {
      const all = recolour();
      const filtered = found || picked.size || chosen;
      count.textContent = filtered ? `${number(all)} of ${number(mixed.length)} items` : `${number(mixed.length)} items`;
      clear.disabled = !filtered;
      store.disabled = take.disabled = !all;
      listClasses();
    };

    // The legend.
    const rowsShown = 400;
    const listClasses = () => {
      const c = columns[column];
      if (!c) return;
      const tally = new Int32Array(c.names.length);
      let none = 0;
      for (let i = 0; i < n; i++) if (counted(i)) c.of[i] < 0 ? none++ : tally[c.of[i]]++;
      const at = [...tally.keys()].filter(k => tally[k] > 0);
      list.replaceChildren(...at.slice(0, rowsShown).map(k => {
        const mark = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        mark.setAttribute("viewBox", "0 0 10 10");
        mark.innerHTML = `<path d="${marks[c.shapes[k]]}"/>`;
        mark.style.fill = c.colours[k];
        const row = el("button", { type: "button", title: c.names[k], onclick: () => { lit = -1; picked.delete(k) || picked.add(k); refresh(); keepFocus(k); } },
          mark, short(shownName(c, k)), el("small", { textContent: number(tally[k]) }));
        row.dataset.k = k;
        row.setAttribute("aria-pressed", picked.has(k));
        row.onpointerenter = e => { if (e.pointerType === "mouse") { lit = k; recolour(); } };
        row.onpointerleave = () => { if (lit >= 0) { lit = -1; recolour(); } };
        return el("li", {}, row);
      }));
      list.classList.toggle("picking", picked.size > 0);
      more.textContent = [at.length > rowsShown && `${number(at.length - rowsShown)} more classes: search for them`,
        none && `${number(none)} without a ${c.name}`].filter(Boolean).join("; ");
      more.hidden = !more.textContent;
    };
    const keepFocus = k => { const b = list.querySelector(`[data-k="${k}"]`); if (b) b.focus(); };
    const labelled = 12; // classes at most, that carry their names on the map
    let anchors = []; // the classes' medians, with their names
    const findAnchors = () => {
      const c = columns[column];
      const only = picked.size ? [...picked] : c ? [...c.names.keys()] : [];
      if (lit >= 0) return;
      const some = mixed.subarray(0, 30000); // they are mixed: the medians are those of all
      anchors = only.length > labelled ? [] : only.flatMap(k => {
        const mine = [...some].filter(i => bright[i] && c.of[i] === k);
        const middle = axis => mine.map(i => place[2 * i + axis]).sort((a, b) => a - b)[mine.length >> 1];
        return mine.length ? [{ x: middle(0), y: middle(1), name: shownName(c, k) }] : [];
      });
      tags.replaceChildren(...anchors.map(a => a.tag = short(a.name)));
    };
    const placeTags = () => {
      const taken = [];
      for (const a of anchors) {
        const [px, py] = toScreen(a.x, a.y), half = a.tag.offsetWidth / 2 + 3;
        a.tag.style.transform = `translate(${px}px, ${py}px) translate(-50%, -50%)`;
        const covers = taken.some(t => Math.abs(t[0] - px) < t[2] + half && Math.abs(t[1] - py) < 18);
        a.tag.style.visibility = covers ? "hidden" : "visible";
        if (!covers) taken.push([px, py, half]);
      }
    };

    // The card of an item.
    const showCard = i => {
      current = i;
      ring.hidden = card.hidden = i < 0;
      if (i < 0) return;
      card.classList.toggle("pinned", pinned);
      const labels = el("dl", {}, ...loaded().map(c => el("div", {}, el("dt", { textContent: c.name }), el("dd", { textContent: className(c, i) }))));
      card.replaceChildren(...data.photo(i, stage.clientWidth < 500 ? 108 : pinned ? 224 : 144, pinned), ...(names ? [el("p", { textContent: names[i] })] : [el("p", { textContent: `row ${i * data.step}` })]), labels);
      if (pinned) card.append(...(data.more ? data.more(i) : []), tool("×", "Close the card", () => { pinned = false; showCard(-1); canvas.focus(); }));
      placeCard();
    };
    const placeCard = () => {
      if (current < 0) return;
      const [px, py] = toScreen(place[2 * current], place[2 * current + 1]);
      ring.style.transform = `translate(${px}px, ${py}px)`;
      const w = stage.clientWidth, h = stage.clientHeight;
      card.classList.toggle("up", py > h * 0.52); // on a phone
      let x = px + 16, y = py + 16;
      if (x + card.offsetWidth > w) x = px - 16 - card.offsetWidth;
      if (y + card.offsetHeight > h) y = py - 16 - card.offsetHeight;
      card.style.transform = `translate(${clamp(x, 4, Math.max(4, w - card.offsetWidth - 4))}px, ${clamp(y, 4, Math.max(4, h - card.offsetHeight - 4))}px)`;
    };
    const step = by => {
      for (let k = 1, i = current; k <= n; k++) {
        i = (i + by + n) % n;
        if (bright[i]) {
          const [px, py] = toScreen(place[2 * i], place[2 * i + 1]);
          if (px < 0 || py < 0 || px > canvas.clientWidth || py > canvas.clientHeight) [view.x, view.y] = [place[2 * i], place[2 * i + 1]];
          showCard(i);
          draw();
          return;
        }
      }
    };

    // Pointers: one moves the map or draws the lasso, two zoom.
    const down = new Map();
    let path = null, moved = 0, spread = 0;
    const local = e => { const b = canvas.getBoundingClientRect(); return [e.clientX - b.left, e.clientY - b.top]; };
    const apart = () => { const [a, b] = [...down.values()]; return Math.hypot(a[0] - b[0], a[1] - b[1]); };
    const setLasso = on => {
      lasso = on;
      lassoButton.setAttribute("aria-pressed", on);
      stage.classList.toggle("lassoing", on);
    };
    const drawPath = () => trace.firstChild.setAttribute("points", path ? path.map(p => p.join()).join(" ") : "");
    canvas.addEventListener("pointerdown", e => {
      canvas.setPointerCapture(e.pointerId);
      down.set(e.pointerId, local(e));
      moved = 0;
      path = down.size === 1 && (lasso || e.shiftKey) ? [local(e)] : null;
      spread = down.size === 2 ? apart() : 0;
      drawPath();
    });
    canvas.addEventListener("pointermove", e => {
      const [px, py] = local(e);
      if (!down.has(e.pointerId)) {
        if (!pinned && e.pointerType === "mouse") { const i = nearest(px, py, 14); if (i !== current) showCard(i); }
        return;
      }
      const [ox, oy] = down.get(e.pointerId);
      down.set(e.pointerId, [px, py]);
      moved += Math.abs(px - ox) + Math.abs(py - oy);
      if (path) { path.push([px, py]); drawPath(); return; }
      if (down.size === 2) {
        const [a, b] = [...down.values()];
        const wide = apart();
        if (spread) zoomBy(wide / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
        spread = wide;
      }
      view.x -= (px - ox) / view.scale / down.size;
      view.y += (py - oy) / view.scale / down.size;
      draw();
    });
    const up = e => {
      if (!down.delete(e.pointerId)) return;
      spread = 0;
      if (path && path.length > 3 && e.type === "pointerup") {
        const corners = path.map(p => toData(...p));
        chosen = Uint8Array.from({ length: n }, (_, i) => bright[i] && inside(corners, place[2 * i], place[2 * i + 1]) ? 1 : 0);
        if (!chosen.includes(1)) chosen = null;
        setLasso(false);
        refresh();
      } else if (moved < (e.pointerType === "mouse" ? 6 : 14) && e.type === "pointerup") { // fingers tremble
        const i = nearest(...local(e), e.pointerType === "mouse" ? 14 : 26);
        pinned = i >= 0;
        showCard(i);
      }
      path = null;
      drawPath();
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => { if (!pinned && !down.size) showCard(-1); });
    // The wheel scrolls the page until the map has been touched.
    canvas.addEventListener("wheel", e => {
      if (!e.ctrlKey && document.activeElement !== canvas) return;
      e.preventDefault();
      zoomBy(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.002)), ...local(e));
    }, { passive: false });
    canvas.addEventListener("keydown", e => {
      const far = 60 / view.scale;
      const act = {
        ArrowLeft: () => { view.x -= far; }, ArrowRight: () => { view.x += far; }, ArrowUp: () => { view.y += far; }, ArrowDown: () => { view.y -= far; },
        "+": () => zoomBy(1.6), "=": () => zoomBy(1.6), "-": () => zoomBy(1 / 1.6), 0: reset, n: () => step(1), p: () => step(-1),
        Enter: () => { pinned = current >= 0; showCard(current); },
        Escape: () => { if (path) { path = null; drawPath(); } else if (current >= 0) { pinned = false; showCard(-1); } else clear.click(); },
      }[e.key];
      if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      act();
      draw();
    });

    const saveCSV = async () => {
      await Promise.all(columns.map(load));
      const head = ["row", ...(names ? ["path"] : []), "x", "y", ...columns.map(c => c.name)];
      const rows = [head];
      for (let i = 0; i < n; i++) {
        if (!bright[i]) continue;
        rows.push([i * data.step, ...(names ? [names[i]] : []), place[2 * i], place[2 * i + 1], ...columns.map(c => c.of[i] < 0 ? "" : c.names[c.of[i]])]);
      }
      save(`${data.file}.csv`, csv(rows));
    };

    stage.append(canvas, tags, trace, ring, card, zoom);
    stage.after(panel);
    figure.classList.add("live");
    refresh();
    let first = true;
    new ResizeObserver(() => {
      const ratio = window.devicePixelRatio || 1;
      const [w, h] = [canvas.clientWidth, canvas.clientHeight].map(v => Math.round(v * ratio));
      if (!w || !h || !first && w === canvas.width && h === canvas.height) return;
      Object.assign(canvas, { width: w, height: h });
      const before = home.scale;
      home = fit();
      if (first) Object.assign(view, home); else view.scale *= home.scale / before;
      first = false;
      draw();
    }).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  };
  // inside reports whether a polygon contains a point, by the crossings to its right.
  const inside = (corners, x, y) => {
    let odd = false;
    for (let i = 0, j = corners.length - 1; i < corners.length; j = i++) {
      const [ax, ay] = corners[i], [bx, by] = corners[j];
      if (ay > y !== by > y && x < (bx - ax) * (y - ay) / (by - ay) + ax) odd = !odd;
    }
    return odd;
  };
  return { works: painter !== null, build, el, csv, save };
})();
