"use strict";
// Long tables: a click on a heading sorts, a second click reverses the order. The
// field above filters the rows by the typed text. A click on a shortened name shows
// the whole name.
{
  const value = cell => cell.dataset.v === undefined ? cell.textContent.trim() : +cell.dataset.v;
  const build = box => {
    const table = box.querySelector("table"), body = table.tBodies[0];
    const rows = [...body.rows];
    const heads = [...table.tHead.rows].at(-1).cells;
    [...heads].forEach((th, k) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...th.childNodes);
      th.append(button);
      button.addEventListener("click", () => {
        // The first click sorts numbers from the largest, names alphabetically.
        const numeric = th.classList.contains("num");
        const before = th.getAttribute("aria-sort");
        const down = before ? before === "ascending" : numeric;
        for (const h of heads) h.removeAttribute("aria-sort");
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        const keyed = rows.map(r => [value(r.cells[k]), r]);
        const missing = v => v === "" || v !== v;
        keyed.sort(([a], [b]) => {
          if (missing(a) || missing(b)) return missing(a) - missing(b);
          const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
          return down ? -order : order;
        });
        body.append(...keyed.map(([, r]) => r));
      });
    });
    if (rows.length <= 20) return;
    const find = document.createElement("input");
    find.type = "search";
    find.placeholder = `Filter ${rows.length.toLocaleString("en")} rows`;
    find.setAttribute("aria-label", find.placeholder);
    const count = document.createElement("output");
    const bar = document.createElement("p");
    bar.className = "filter";
    bar.append(find, count);
    box.before(bar);
    find.addEventListener("input", () => {
      const text = find.value.trim().toLowerCase();
      let n = 0;
      for (const r of rows) {
        const whole = [...r.cells].map(c => c.textContent).join(" ").toLowerCase();
        r.hidden = text !== "" && !whole.includes(text);
        n += !r.hidden;
      }
      count.textContent = text ? `${n.toLocaleString("en")} found` : "";
    });
  };
  for (const box of document.querySelectorAll(".box[data-sort]")) build(box);
  for (const name of document.querySelectorAll("td .name")) name.addEventListener("click", () => name.classList.toggle("whole"));
}
