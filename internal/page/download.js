// Items as a file: a manifest, which kindred reads as a data set, or a table.
import { count, csv, save } from "./text.js";
import { labelColumn, page, telling } from "./state.js";

// manifest has the photos with their labels; a part of a photo has its box.
const manifest = items => {
  const boxes = items.map(it => it.id.match(/#xywh=(\d+),(\d+),(\d+),(\d+)$/)?.slice(1).map(Number)), label = labelColumn();
  const taken = new Set(["path", "label", "x_1", "y_1", "x_2", "y_2"]), others = names(items).filter(n => n !== label && !taken.has(n));
  const boxed = boxes.some(b => b), rows = [["path", "label", ...(boxed ? ["x_1", "y_1", "x_2", "y_2"] : []), ...others]];
  items.forEach((it, i) => {
    if (!it.path) return;
    const [x, y, w, h] = boxes[i] ?? [], box = boxes[i] ? [x, y, x + w, y + h] : ["", "", "", ""];
    rows.push([it.path, it.columns?.[label] ?? "", ...(boxed ? box : []), ...others.map(n => it.columns?.[n] ?? "")]);
  });
  return rows;
};
const names = items => [...new Set(items.flatMap(it => Object.keys(it.columns ?? {})))].filter(telling);
// table has what the page shows of the items. A reader gets no paths of the server.
const table = items => {
  const may = page.info.may === "write", all = names(items), facts = ["distance", "same"].filter(n => items.some(it => it[n] !== undefined));
  return [["id", ...(may ? ["path"] : []), ...facts, ...all], ...items.map(it => [it.id, ...(may ? [it.path ?? ""] : []), ...facts.map(n => it[n] ?? ""), ...all.map(n => it.columns?.[n] ?? "")])];
};
// download saves items and returns what it says of it.
export const download = (items, kind) => {
  const rows = kind === "manifest" ? manifest(items) : table(items), n = rows.length - 1;
  save(kind === "manifest" ? "manifest.csv" : `${page.state.collection}.csv`, csv(rows));
  return `${count(n)} saved${n < items.length ? `; ${count(items.length - n)} without a photo ${items.length - n === 1 ? "is" : "are"} left out` : ""}`;
};
