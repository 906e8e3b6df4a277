"""Writes small text towers with random weights, and their embeddings of texts by PyTorch 2.6.

    python3 make_reference.py

Each folder is as Hugging Face has it: config.json, model.safetensors, tokenizer.json. The towers are computed here by
the formulas of CLIPTextModelWithProjection, SiglipTextModel and open_clip's CLIP, with torch's own layers.
"""
import json
import os
import struct

import torch
import torch.nn.functional as F

torch.manual_seed(56)
HERE = os.path.dirname(os.path.abspath(__file__))
TEXTS = ["a red boot", "A photo of a Dog.", "", "x", "the quick brown fox jumps over the lazy dog and on and on", "a  b"]


def save(folder, name, tensors):
    header, blob = {}, b""
    for key, t in tensors.items():
        raw = t.contiguous().numpy().tobytes()
        kind = {torch.float32: "F32", torch.float16: "F16"}[t.dtype]
        header[key] = {"dtype": kind, "shape": list(t.shape), "data_offsets": [len(blob), len(blob) + len(raw)]}
        blob += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + blob)


def write(folder, name, value):
    with open(os.path.join(folder, name), "w") as f:
        json.dump(value, f)
        f.write("\n")


def byte_alphabet():
    bs = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    cs, n = bs[:], 0
    for b in range(256):
        if b not in bs:
            bs.append(b)
            cs.append(256 + n)
            n += 1
    return {b: chr(c) for b, c in zip(bs, cs)}


ALPHABET = byte_alphabet()
BOS, EOS = 512, 513


def clip_tokenizer():
    vocab = {}
    for end in ["", "</w>"]:
        for c in ALPHABET.values():
            vocab[c + end] = len(vocab)
    vocab["<|startoftext|>"], vocab["<|endoftext|>"] = BOS, EOS
    token = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return vocab, {
        "version": "1.0",
        "added_tokens": [{"id": i, "content": c, **token} for c, i in [("<|startoftext|>", BOS), ("<|endoftext|>", EOS)]],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Lowercase"}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "behavior": "Removed", "invert": True,
             "pattern": {"Regex": "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"}},
            {"type": "ByteLevel", "add_prefix_space": False}]},
        "post_processor": {"type": "RobertaProcessing", "sep": ["<|endoftext|>", EOS], "cls": ["<|startoftext|>", BOS],
                           "trim_offsets": False, "add_prefix_space": False},
        "model": {"type": "BPE", "unk_token": "<|endoftext|>", "end_of_word_suffix": "</w>", "vocab": vocab, "merges": []}}


def clip_ids(vocab, text, most):
    ids = []
    for word in text.lower().replace(".", " .").split():
        ids += [vocab[c] for c in word[:-1]] + [vocab[word[-1] + "</w>"]]
    return [BOS] + ids[:most - 2] + [EOS]


def quick_gelu(x):
    return x * torch.sigmoid(1.702 * x)


def blocks(x, p, name, depth, heads, eps, act, causal):
    """x is T x C; name maps a block's part to its key."""
    t, c = x.shape
    for i in range(depth):
        g = lambda part: (p[name(i, part) + ".weight"], p[name(i, part) + ".bias"])
        y = F.layer_norm(x, (c,), *g("ln1"), eps)
        q, k, v = (F.linear(y, *g(n)).view(t, heads, c // heads).transpose(0, 1) for n in "qkv")
        y = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal)[0]
        x = x + F.linear(y.transpose(0, 1).reshape(t, c), *g("out"))
        y = F.layer_norm(x, (c,), *g("ln2"), eps)
        x = x + F.linear(act(F.linear(y, *g("fc1"))), *g("fc2"))
    return x


def hugging(i, part, tower="text_model."):
    return tower + f"encoder.layers.{i}." + {
        "ln1": "layer_norm1", "ln2": "layer_norm2", "q": "self_attn.q_proj", "k": "self_attn.k_proj",
        "v": "self_attn.v_proj", "out": "self_attn.out_proj", "fc1": "mlp.fc1", "fc2": "mlp.fc2"}[part]


def random_blocks(name, depth, width, inner):
    p = {}
    for i in range(depth):
        for part in ["ln1", "ln2"]:
            p[name(i, part) + ".weight"] = 1 + torch.randn(width) / 4
            p[name(i, part) + ".bias"] = torch.randn(width) / 4
        for part, rows, cols in [("q", width, width), ("k", width, width), ("v", width, width), ("out", width, width),
                                 ("fc1", inner, width), ("fc2", width, inner)]:
            p[name(i, part) + ".weight"] = torch.randn(rows, cols) * cols ** -0.5 * 1.5
            p[name(i, part) + ".bias"] = torch.randn(rows) / 4
    return p


def clip(folder, act, half):
    width, depth, heads, length, dim, inner = 16, 2, 2, 24, 12, 40
    vocab, tokenizer = clip_tokenizer()
    p = random_blocks(hugging, depth, width, inner)
    p["text_model.embeddings.token_embedding.weight"] = torch.randn(len(vocab), width)
    p["text_model.embeddings.position_embedding.weight"] = torch.randn(length, width) / 2
    p["text_model.final_layer_norm.weight"] = 1 + torch.randn(width) / 4
    p["text_model.final_layer_norm.bias"] = torch.randn(width) / 4
    p["text_projection.weight"] = torch.randn(dim, width) / 4
    if half:
        p = {k: v.half() for k, v in p.items()}
    stored, p = p, {k: v.float() for k, v in p.items()}
    config = {"hidden_size": width, "num_attention_heads": heads, "num_hidden_layers": depth, "layer_norm_eps": 1e-5,
              "hidden_act": act, "max_position_embeddings": length, "intermediate_size": inner,
              "vocab_size": len(vocab), "projection_dim": dim}
    if half:  # CLIPModel: both towers in one file, the ids of CLIP's first configurations
        stored["vision_model.post_layernorm.weight"] = torch.ones(4)
        stored["logit_scale"] = torch.tensor(2.6)
        config = {"model_type": "clip", "projection_dim": dim, "text_config": {**config, "eos_token_id": 2}}
    else:
        config = {"model_type": "clip_text_model", **config, "eos_token_id": EOS}
    os.makedirs(folder, exist_ok=True)
    save(folder, "model.safetensors", stored)
    write(folder, "config.json", config)
    write(folder, "tokenizer.json", tokenizer)
    out = []
    for text in TEXTS:
        ids = clip_ids(vocab, text, length)
        ids += [EOS] * (length - len(ids))
        x = p["text_model.embeddings.token_embedding.weight"][ids] + p["text_model.embeddings.position_embedding.weight"]
        x = blocks(x, p, hugging, depth, heads, 1e-5, quick_gelu if act == "quick_gelu" else F.gelu, True)
        x = F.layer_norm(x, (width,), p["text_model.final_layer_norm.weight"], p["text_model.final_layer_norm.bias"], 1e-5)
        out.append(F.linear(x[ids.index(EOS)], p["text_projection.weight"]).tolist())
    return out


def siglip(folder):
    width, depth, heads, length, inner = 16, 2, 2, 16, 40
    pieces = ["<pad>", "</s>", "<unk>", "\u2581"] + [chr(c) for c in range(97, 123)] + ["\u2581a", "\u2581the"]
    p = random_blocks(hugging, depth, width, inner)
    p["text_model.embeddings.token_embedding.weight"] = torch.randn(len(pieces), width)
    p["text_model.embeddings.position_embedding.weight"] = torch.randn(length, width) / 2
    p["text_model.final_layer_norm.weight"] = 1 + torch.randn(width) / 4
    p["text_model.final_layer_norm.bias"] = torch.randn(width) / 4
    p["text_model.head.weight"] = torch.randn(width, width) / 4
    p["text_model.head.bias"] = torch.randn(width) / 4
    os.makedirs(folder, exist_ok=True)
    save(folder, "model.safetensors", p)
    write(folder, "config.json", {"model_type": "siglip", "text_config": {
        "hidden_size": width, "num_attention_heads": heads, "num_hidden_layers": depth, "intermediate_size": inner,
        "max_position_embeddings": length, "vocab_size": len(pieces)}})
    write(folder, "tokenizer_config.json", {"tokenizer_class": "SiglipTokenizer", "pad_token": "</s>"})
    write(folder, "tokenizer.json", {
        "version": "1.0", "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Replace", "pattern": {"Regex": "[.,!]"}, "content": ""},
            {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}]},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"},
        "post_processor": {"type": "TemplateProcessing",
                           "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                           "special_tokens": {"</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]}}},
        "model": {"type": "Unigram", "unk_id": 2, "vocab": [[t, 0 if i < 3 else -2.0] for i, t in enumerate(pieces)]}})
    out = []
    for text in TEXTS:
        ids = []
        for word in text.lower().replace(".", "").split():
            w = "\u2581" + word
            while w:  # all scores are equal, so the longest tokens win
                n = next(n for n in range(4, 0, -1) if w[:n] in pieces)
                ids.append(pieces.index(w[:n]))
                w = w[n:]
        ids = ids[:length - 1] + [1]
        ids += [1] * (length - len(ids))
        x = p["text_model.embeddings.token_embedding.weight"][ids] + p["text_model.embeddings.position_embedding.weight"]
        x = blocks(x, p, hugging, depth, heads, 1e-6, lambda x: F.gelu(x, approximate="tanh"), False)
        x = F.layer_norm(x, (width,), p["text_model.final_layer_norm.weight"], p["text_model.final_layer_norm.bias"], 1e-6)
        out.append(F.linear(x[-1], p["text_model.head.weight"], p["text_model.head.bias"]).tolist())
    return out


def open_clip(folder):
    width, depth, heads, length, dim = 16, 2, 2, 20, 12
    vocab, tokenizer = clip_tokenizer()
    mine = lambda i, part: f"{i}.{part}"
    q = random_blocks(mine, depth, width, 4 * width)
    p = {"token_embedding.weight": torch.randn(len(vocab), width), "positional_embedding": torch.randn(length, width) / 2,
         "ln_final.weight": 1 + torch.randn(width) / 4, "ln_final.bias": torch.randn(width) / 4,
         "text_projection": torch.randn(width, dim) / 4}
    for i in range(depth):
        at = f"transformer.resblocks.{i}."
        for end in ["weight", "bias"]:
            p[at + "attn.in_proj_" + end] = torch.cat([q[mine(i, n) + "." + end] for n in "qkv"])
            for ours, theirs in [("ln1", "ln_1"), ("ln2", "ln_2"), ("out", "attn.out_proj"), ("fc1", "mlp.c_fc"),
                                 ("fc2", "mlp.c_proj")]:
                p[at + theirs + "." + end] = q[mine(i, ours) + "." + end]
    os.makedirs(folder, exist_ok=True)
    save(folder, "open_clip_model.safetensors", {**p, "visual.class_embedding": torch.ones(4)})
    write(folder, "open_clip_config.json", {"model_cfg": {"embed_dim": dim, "text_cfg": {
        "context_length": length, "vocab_size": len(vocab), "width": width, "heads": heads, "layers": depth}}})
    write(folder, "tokenizer.json", tokenizer)
    out = []
    for text in TEXTS:
        ids = clip_ids(vocab, text, length)
        ids += [0] * (length - len(ids))
        x = p["token_embedding.weight"][ids] + p["positional_embedding"]
        x = blocks(x, q, mine, depth, heads, 1e-5, F.gelu, True)
        x = F.layer_norm(x, (width,), p["ln_final.weight"], p["ln_final.bias"], 1e-5)
        out.append((x[ids.index(EOS)] @ p["text_projection"]).tolist())
    return out


with torch.no_grad():
    cases = {"clip": clip(os.path.join(HERE, "clip"), "gelu", False),
             "both": clip(os.path.join(HERE, "both"), "quick_gelu", True),
             "siglip": siglip(os.path.join(HERE, "siglip")), "openclip": open_clip(os.path.join(HERE, "openclip"))}
with open(os.path.join(HERE, "embeddings.json"), "w") as f:
    json.dump({"torch": torch.__version__, "texts": TEXTS, "embeddings": cases}, f)
    f.write("\n")
