// Writes metaspace_first.json: for tokenizers whose Metaspace has the scheme "first" behind several normalizers and
// splits, the FNV-1a hash of the ids of each text, by Hugging Face's own tokenizers (the npm package tokenizers 0.23.2,
// which is the Rust library).
//
//   npm install tokenizers@0.23.2
//   node make_metaspace_first.mjs
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const require = createRequire(path.join(process.cwd(), "x.js"));
const { Tokenizer } = require("tokenizers");
let state = 7;
const below = (n) => ((state = (state * 1103515245 + 12345) & 0x7fffffff) >> 8) % n;
const parts = ["a", "b", " ", "  ", "\t", "\u0000", "İ", "e\u0301", "``", "x", "xx", "\u2581", "½", "\u200b", "<m>", "Ab"];
const texts = Array.from({ length: 60 }, () => Array.from({ length: below(6) + 1 }, () => parts[below(parts.length)]).join(""));
const replace = (pattern, content) => ({ type: "Replace", pattern, content });
const sequence = (...normalizers) => ({ type: "Sequence", normalizers });
const strip = (strip_right) => ({ type: "Strip", strip_left: true, strip_right });
const normalizers = [null, strip(true), replace({ String: "a" }, ""), replace({ String: "``" }, '"'),
  replace({ Regex: " {2,}" }, " "), replace({ Regex: "x+" }, "yz"), { type: "Lowercase" }, { type: "NFC" },
  sequence(replace({ String: "½" }, "123"), replace({ String: "12" }, "w"), strip(false)),
  sequence({ type: "Lowercase" }, replace({ String: "i" }, ""), replace({ String: "\u0307" }, "")),
  sequence({ type: "Prepend", prepend: " b" }, strip(true)),
  sequence({ type: "Prepend", prepend: "xxx" }, replace({ String: "xx" }, "Q"))];
const metaspace = { type: "Metaspace", replacement: "\u2581", prepend_scheme: "first", split: true };
const behind = (one) => ({ type: "Sequence", pretokenizers: [one, metaspace] });
const splits = [metaspace, behind({ type: "WhitespaceSplit" }),
  behind({ type: "Split", pattern: { String: "b" }, behavior: "Removed", invert: false }),
  behind({ type: "Split", pattern: { String: "x" }, behavior: "Isolated", invert: false })];
const vocab = { "<unk>": 0 };
const byte = (b) => "<0x" + b.toString(16).toUpperCase().padStart(2, "0") + ">";
for (const token of [...Array.from({ length: 256 }, (_, b) => byte(b)), ..."abxwyzQ\"123\u2581e½i\u0307İé"])
  vocab[token] ??= Object.keys(vocab).length;
const base = { version: "1.0",
  added_tokens: [{ id: Object.keys(vocab).length, content: "<m>", single_word: false, lstrip: false, rstrip: false, normalized: false,
    special: true }],
  model: { type: "BPE", unk_token: "<unk>", fuse_unk: false, byte_fallback: true, vocab, merges: [] } };
const hash = (ids) => ids.reduce((h, id) => Math.imul(h ^ id, 16777619) >>> 0, 2166136261);
const cases = [];
for (const normalizer of normalizers)
  for (const [k, pre_tokenizer] of splits.entries()) {
    if (normalizer?.normalizers?.[0].type === "Prepend" && k > 1) continue; // see TestMetaspaceFirst
    const tokenizer = await Tokenizer.fromString(JSON.stringify({ ...base, normalizer, pre_tokenizer }));
    const hashes = [];
    for (const text of texts)
      hashes.push(hash((await tokenizer.encode(text, null, { addSpecialTokens: false })).getIds()));
    cases.push({ normalizer, pre_tokenizer, hashes });
  }
fs.writeFileSync("metaspace_first.json", JSON.stringify({ base, texts, cases }));
