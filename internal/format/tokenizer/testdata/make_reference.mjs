// Writes the reference of tokenizer_test.go: three tokenizer.json files and, for each, 16 bits of a hash of the ids
// of 10,000 strings, by Hugging Face's own tokenizers (the npm package tokenizers 0.23.2, which is the Rust library).
//
//   npm install tokenizers@0.23.2
//   node make_reference.mjs CLIP 4000    # CLIP: a checkout of github.com/openai/CLIP; 4000: merges that are kept
//
// The strings are those of strings_test.go: both draw them from splitmix64.
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { createRequire } from "node:module";

const require = createRequire(path.join(process.cwd(), "x.js"));
const { Tokenizer } = require("tokenizers");
const [clipDir, merges] = [process.argv[2], Number(process.argv[3])];
const out = process.argv[4] ?? path.dirname(new URL(import.meta.url).pathname);

// Strings.
let state = 0n;
const mask = (1n << 64n) - 1n;
function next() {
  state = (state + 0x9e3779b97f4a7c15n) & mask;
  let z = state;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
  return z ^ (z >> 31n);
}
const below = (n) => Number((next() >> 11n) % BigInt(n));
const special = ["<|startoftext|>", "<|endoftext|>", "</s>", "<unk>", "<bos>", "<eos>", "<pad>", "<mask>", "\n\n",
  "<0x41>", "\u2581", "\u2581\u2581", "</w>", "don't", "I'LL", "we've", "x'S", "12345", "$9.99", "  ", "\t", "<start>"];
const spaces = [9, 10, 11, 12, 13, 32, 0x85, 0xa0, 0x1680, 0x2000, 0x200a, 0x200b, 0x2028, 0x2029, 0x202f, 0x205f,
  0x3000, 0xfeff, 0, 1, 0x1b, 0x7f, 0x180e];
const words = ["a", "photo", "of", "The", "red", "boot", "with", "LACES", "dog", "running", "on", "grass", "Zürich",
  "naïve", "straße", "ΣΊΣΥΦΟΣ", "İstanbul", "ﬁne", "①", "½", "Ångström", "e\u0301te", "hello,", "world!", "(x)", "--"];
const between = (lo, hi) => lo + below(hi - lo + 1);
function rune(kind) {
  for (;;) {
    let c;
    switch (kind) {
      case 0: c = between(32, 126); break;
      case 1: c = below(0x110000); break;
      case 2: c = [between(0x1f300, 0x1faff), 0x200d, 0xfe0f, between(0x1f3fb, 0x1f3ff), between(0x1f1e6, 0x1f1ff),
        between(0x2600, 0x27bf)][below(6)]; break;
      case 3: c = [between(97, 122), between(0x300, 0x36f), between(0xc0, 0x17f), between(65, 90)][below(4)]; break;
      case 4: c = [between(0x4e00, 0x9fff), between(0x3040, 0x30ff), between(0xac00, 0xd7a3), between(0x1100, 0x11ff),
        between(0xff00, 0xffef)][below(5)]; break;
      case 5: c = [between(0x5d0, 0x5ea), between(0x620, 0x65f), between(0x591, 0x5bd), 0x200e, 0x200f, 0x202e,
        between(0xfb50, 0xfdff)][below(7)]; break;
      case 6: c = spaces[below(spaces.length)]; break;
      case 10: c = between(0x300, 0x36f); break;
      default: c = [between(0x370, 0x3ff), between(0x400, 0x4ff), between(0x1e00, 0x1eff), between(0x900, 0x97f),
        between(0x2000, 0x22ff), 32][below(6)];
    }
    if (c < 0xd800 || c > 0xdfff) return String.fromCodePoint(c);
  }
}
function text(kind, n) {
  let s = "";
  const marks = kind === 3 && below(8) === 0;
  for (let i = 0; i < n; i++) {
    if (kind === 8) s += words[below(words.length)] + (below(5) === 0 ? "" : " ");
    else if (kind === 9) s += below(2) === 0 ? special[below(special.length)] : rune(below(8));
    else s += rune(marks ? 10 : kind);
  }
  return s;
}
function bytesOf(i) {
  state = BigInt(i) * 1000003n;
  const kind = i % 12;
  let n = below(40);
  if (i % 601 === 600) n = between(1000, 6000);
  if (kind === 10) return Buffer.from(Array.from({ length: n }, () => below(256)));
  if (kind === 11) {
    const b = Buffer.from(text(below(10), n), "utf8");
    for (let k = below(4); k > 0 && b.length > 0; k--) b[below(b.length)] = below(256);
    return b;
  }
  return Buffer.from(text(kind, n), "utf8");
}

// Tokenizers.
const token = (id, content, more) => ({ id, content, single_word: false, lstrip: false, rstrip: false,
  normalized: false, special: true, ...more });
const whole = { version: "1.0", truncation: null, padding: null };

function byteAlphabet() {
  const bs = [];
  for (const [lo, hi] of [[33, 126], [161, 172], [174, 255]]) for (let b = lo; b <= hi; b++) bs.push(b);
  const cs = [...bs];
  for (let b = 0, n = 0; b < 256; b++) if (!bs.includes(b)) { bs.push(b); cs.push(256 + n++); }
  return cs.map((c) => String.fromCodePoint(c));
}
const published = zlib.gunzipSync(fs.readFileSync(path.join(clipDir, "clip/bpe_simple_vocab_16e6.txt.gz"))).toString()
  .split("\n").slice(1, 49152 - 256 - 2 + 1).slice(0, merges);

function clip() {
  const alphabet = byteAlphabet();
  const list = [...alphabet, ...alphabet.map((c) => c + "</w>"), ...published.map((m) => m.split(" ").join("")),
    "<|startoftext|>", "<|endoftext|>"];
  const vocab = Object.fromEntries(list.map((t, i) => [t, i]));
  const [bos, eos] = [list.length - 2, list.length - 1];
  return { ...whole,
    added_tokens: [token(bos, "<|startoftext|>", { normalized: true }), token(eos, "<|endoftext|>")],
    normalizer: { type: "Sequence", normalizers: [{ type: "NFC" },
      { type: "Replace", pattern: { Regex: "\\s+" }, content: " " }, { type: "Lowercase" }] },
    pre_tokenizer: { type: "Sequence", pretokenizers: [{ type: "Split", behavior: "Removed", invert: true, pattern: {
      Regex: "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+" } },
    { type: "ByteLevel", add_prefix_space: false, trim_offsets: true }] },
    post_processor: { type: "RobertaProcessing", sep: ["<|endoftext|>", eos], cls: ["<|startoftext|>", bos],
      trim_offsets: false, add_prefix_space: false },
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true },
    model: { type: "BPE", dropout: null, unk_token: "<|endoftext|>", continuing_subword_prefix: "",
      end_of_word_suffix: "</w>", fuse_unk: false, vocab, merges: published } };
}

const template = (name, id) => ({ type: "TemplateProcessing",
  single: [{ Sequence: { id: "A", type_id: 0 } }, { SpecialToken: { id: name, type_id: 0 } }],
  pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 0 } }],
  special_tokens: { [name]: { id: name, ids: [id], tokens: [name] } } });

// charsmap is a table of SentencePiece: a double array over the keys, and the texts they become.
function charsmap(map) {
  const root = {};
  let texts = Buffer.alloc(0);
  for (const [from, to] of Object.entries(map).sort()) {
    let node = root;
    for (const b of Buffer.from(from)) node = (node.next ??= new Map()).get(b) ??
      node.next.set(b, {}).get(b);
    node.value = texts.length;
    texts = Buffer.concat([texts, Buffer.from(to), Buffer.from([0])]);
  }
  const units = [], used = new Set([0]);
  const place = (node, at) => {
    const labels = [...(node.next?.keys() ?? [])].sort((a, b) => a - b);
    if (node.value !== undefined) labels.unshift(0);
    let base = 1;
    for (; ; base++) {
      const offset = base ^ at;
      if (offset < 1 << 21 && labels.every((l) => !used.has(base ^ l))) break;
    }
    for (const l of labels) used.add(base ^ l);
    units[at] = ((units[at] ?? 0) | ((base ^ at) << 10) | (node.value !== undefined ? 1 << 8 : 0)) >>> 0;
    for (const l of labels) {
      if (l === 0) units[base] = (node.value | (1 << 31)) >>> 0;
      else units[base ^ l] = l;
    }
    for (const l of labels) if (l !== 0) place(node.next.get(l), base ^ l);
  };
  place(root, 0);
  const n = Math.ceil((Math.max(...used) + 1) / 256) * 256;
  const b = Buffer.alloc(4 + 4 * n);
  b.writeUInt32LE(4 * n, 0);
  for (let i = 0; i < n; i++) b.writeUInt32LE(units[i] ?? 0, 4 + 4 * i);
  return Buffer.concat([b, texts]).toString("base64");
}

function siglip() {
  const vocab = [["<pad>", 0], ["</s>", 0], ["<unk>", 0]];
  const seen = new Set(vocab.map((v) => v[0]));
  const add = (t, score) => { if (!seen.has(t)) { seen.add(t); vocab.push([t, score]); } };
  add("\u2581", -2.5);
  published.forEach((m, i) => {
    const t = m.split(" ").join("");
    if (!/^[\x21-\x7e]+$/.test(t)) return;
    add(t.endsWith("</w>") ? t.slice(0, -4) : "\u2581" + t, -Math.fround(4 + Math.log(i + 2)));
  });
  for (const [lo, hi] of [[33, 126], [0xc0, 0x17f], [0x3b1, 0x3c9], [0x430, 0x45f], [0x3041, 0x3096], [0x4e00, 0x4e80],
    [0x1f600, 0x1f640]]) for (let c = lo; c <= hi; c++) add(String.fromCodePoint(c), -Math.fround(9 + (c % 7) / 3));
  const map = { "\u00a0": " ", "\t": " ", "\n": " ", "\r": " ", "\u3000": " ", "\u0001": "", "\u200b": " ", "\ufeff": "",
    "\ufb01": "fi", "\u2460": "1", "\u00bd": "1\u20442", "e\u0301": "\u00e9", "a\u0308": "\u00e4", "\u212b": "\u00c5",
    "\u1112\u1161": "\ud558", "\u2026": "..." };
  for (let c = 0xff01; c <= 0xff5e; c++) map[String.fromCodePoint(c)] = String.fromCodePoint(c - 0xfee0);
  return { ...whole,
    added_tokens: [token(0, "<pad>"), token(1, "</s>"), token(2, "<unk>")],
    normalizer: { type: "Sequence", normalizers: [{ type: "Precompiled", precompiled_charsmap: charsmap(map) },
      { type: "Lowercase" },
      { type: "Replace", pattern: { Regex: "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~]" }, content: "" },
      { type: "Replace", pattern: { Regex: "\\s+" }, content: " " },
      { type: "Strip", strip_left: true, strip_right: true }] },
    pre_tokenizer: { type: "Metaspace", replacement: "\u2581", add_prefix_space: true, prepend_scheme: "always" },
    post_processor: template("</s>", 1),
    decoder: { type: "Metaspace", replacement: "\u2581", add_prefix_space: true, prepend_scheme: "always" },
    model: { type: "Unigram", unk_id: 2, vocab, byte_fallback: false } };
}

// gemma has merges that are learned here from the README and the data of CLIP.
function gemma() {
  const list = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "\n\n", "\n\n\n", "\u2581\u2581", "<start>"];
  const known = new Set(list);
  const add = (t) => { if (!known.has(t)) { known.add(t); list.push(t); } };
  for (let b = 0; b < 256; b++) add("<0x" + b.toString(16).toUpperCase().padStart(2, "0") + ">");
  for (const [lo, hi] of [[10, 10], [33, 126], [0xc0, 0x17f], [0x3b1, 0x3c9], [0x410, 0x45f], [0x3041, 0x3096],
    [0x4e00, 0x4e80], [0x1f600, 0x1f640]]) for (let c = lo; c <= hi; c++) add(String.fromCodePoint(c));
  add("\u2581");
  const count = new Map();
  for (const f of ["README.md", "data/prompts.md", "data/country211.md"]) {
    for (const w of fs.readFileSync(path.join(clipDir, f), "utf8").split(/(?= )/)) {
      const t = w.replaceAll(" ", "\u2581");
      count.set(t, (count.get(t) ?? 0) + 1);
    }
  }
  let parts = [...count].map(([w, n]) => [[...w].filter((c) => known.has(c)), n]);
  const learned = [];
  while (learned.length < 1500) {
    const pairs = new Map();
    for (const [p, n] of parts) for (let i = 0; i + 1 < p.length; i++) {
      const k = p[i] + " " + p[i + 1];
      pairs.set(k, (pairs.get(k) ?? 0) + n);
    }
    let best = "", most = 1;
    for (const [k, n] of pairs) if (n > most || n === most && k < best) [best, most] = [k, n];
    if (best === "") break;
    const [a, b] = best.split(" ");
    learned.push([a, b]);
    add(a + b);
    parts = parts.map(([p, n]) => {
      const q = [];
      for (let i = 0; i < p.length; i++) {
        if (p[i] === a && p[i + 1] === b) { q.push(a + b); i++; } else q.push(p[i]);
      }
      return [q, n];
    });
  }
  const plain = { special: false };
  return { ...whole,
    added_tokens: [0, 1, 2, 3, 4].map((i) => token(i, list[i])).concat([5, 6, 7].map((i) => token(i, list[i], plain)),
      [token(8, "<start>", { single_word: true, lstrip: true, rstrip: true })]),
    normalizer: { type: "Replace", pattern: { String: " " }, content: "\u2581" },
    pre_tokenizer: { type: "Split", pattern: { String: " " }, behavior: "MergedWithPrevious", invert: false },
    post_processor: template("<eos>", 1),
    decoder: { type: "Sequence", decoders: [{ type: "Replace", pattern: { String: "\u2581" }, content: " " },
      { type: "ByteFallback" }, { type: "Fuse" }] },
    model: { type: "BPE", dropout: null, unk_token: "<unk>", continuing_subword_prefix: null, end_of_word_suffix: null,
      fuse_unk: true, byte_fallback: true, ignore_merges: false,
      vocab: Object.fromEntries(list.map((t, i) => [t, i])), merges: learned } };
}

const all = Array.from({ length: 10000 }, (_, i) => bytesOf(i).toString("utf8"));
for (const [name, json] of Object.entries({ clip: clip(), siglip: siglip(), gemma: gemma() })) {
  const text = JSON.stringify(json);
  fs.writeFileSync(path.join(out, name + ".json.gz"), zlib.gzipSync(text, { level: 9 }));
  const reference = Tokenizer.fromString(text);
  const hashes = Buffer.alloc(2 * all.length);
  let ids = 0;
  for (let i = 0; i < all.length; i++) {
    let h = 2166136261;
    const got = (await reference.encode(all[i])).getIds();
    ids += got.length;
    for (const id of got) for (let k = 0; k < 32; k += 8) h = Math.imul(h ^ ((id >>> k) & 255), 16777619) >>> 0;
    hashes.writeUInt16LE((h ^ (h >>> 16)) & 0xffff, 2 * i);
    if (process.env.SHOW === name + i) console.log(JSON.stringify(all[i]), got);
  }
  fs.writeFileSync(path.join(out, name + ".ids"), hashes);
  console.log(name, text.length, "bytes,", ids, "ids");
}
