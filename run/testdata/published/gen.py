#!/usr/bin/env python3
"""Writes goldens.json.gz, which published_golden_test.go compares with: small networks with the heads, activations and
epsilons of published ones, under the names of their publishers, and the embeddings that PyTorch computes.

    /usr/bin/python3 run/testdata/published/gen.py                   writes goldens.json.gz (needs torch, torchvision)
    /usr/bin/python3 run/testdata/published/gen.py full kindred [f]  compares networks of full width and two blocks,
                                                                     with random weights, by the program kindred

Weights are numbers of a linear congruential generator that starts from the tensor's name, so that no weights need to
be kept. Everything is computed from the definitions of the networks.
"""
import csv, gzip, json, math, os, struct, subprocess, sys, tempfile, zlib
import numpy as np, torch
from torch.nn import functional as F

ACT = {"gelu": F.gelu, "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x), "silu": F.silu,
       "gelu_tanh": lambda x: .5 * x * (1 + torch.tanh((2 / math.pi) ** .5 * (x + .044715 * x ** 3)))}


def uniform(name, n):
    """n numbers in [-1, 1): multiples of 2^-23."""
    with np.errstate(over="ignore"):
        a = np.cumprod(np.full(n, 1664525, np.uint32), dtype=np.uint32)
        c = np.cumsum(np.concatenate([[np.uint32(1)], a[:-1]]), dtype=np.uint32) * np.uint32(1013904223)
        s = a * np.uint32(zlib.crc32(name.encode())) + c
    return (s >> np.uint32(8)).astype(np.float32) / np.float32(2 ** 23) - np.float32(1)


def value(name, shape):
    u = uniform(name, int(np.prod(shape)))
    one = len(shape) == 1
    if name.endswith("running_var"):
        v = np.float32(.3) + np.float32(.25) * u
    elif one and name.split(".")[-1] in ("weight", "gamma", "lambda1", "layer_scale_parameter"):
        v = np.float32(1) + np.float32(.25) * u
    elif one:
        v = np.float32(.125) * u
    elif any(w in name for w in ("pos", "token", "class_embedding", "probe", "latent")):
        v = np.float32(.5) * u
    else:
        v = np.float32(2 / math.sqrt(float(np.prod(shape[1:])))) * u
    return torch.tensor(v.reshape(shape))


class Names:
    """The names of a transformer's tensors: hugging CLIP and SigLIP, hugging ViT, DINOv2, timm, OpenCLIP."""
    def __init__(self, kind, base=""):
        self.kind, self.base = kind, base

    def block(self, i):
        return self.base + {"clip": "encoder.layers.%d.", "vit": "encoder.layer.%d.", "dinov2": "encoder.layer.%d.",
                            "timm": "blocks.%d.", "open": "transformer.resblocks.%d."}[self.kind] % i

    def of(self, what):
        return {
            "clip": dict(patch="embeddings.patch_embedding", cls="embeddings.class_embedding",
                         pos="embeddings.position_embedding.weight", pre="pre_layrnorm", norm="post_layernorm",
                         n1="layer_norm1", n2="layer_norm2", q="self_attn.q_proj", k="self_attn.k_proj",
                         v="self_attn.v_proj", o="self_attn.out_proj", f1="mlp.fc1", f2="mlp.fc2"),
            "vit": dict(patch="embeddings.patch_embeddings.projection", cls="embeddings.cls_token",
                        pos="embeddings.position_embeddings", norm="layernorm", n1="layernorm_before",
                        n2="layernorm_after", q="attention.attention.query", k="attention.attention.key",
                        v="attention.attention.value", o="attention.output.dense", f1="intermediate.dense",
                        f2="output.dense"),
            "dinov2": dict(patch="embeddings.patch_embeddings.projection", cls="embeddings.cls_token",
                           pos="embeddings.position_embeddings", norm="layernorm", n1="norm1", n2="norm2",
                           q="attention.attention.query", k="attention.attention.key", v="attention.attention.value",
                           o="attention.output.dense", f1="mlp.fc1", f2="mlp.fc2", s1="layer_scale1.lambda1",
                           s2="layer_scale2.lambda1"),
            "timm": dict(patch="patch_embed.proj", cls="cls_token", pos="pos_embed", pre="norm_pre", norm="norm",
                         n1="norm1", n2="norm2", qkv="attn.qkv", o="attn.proj", f1="mlp.fc1", f2="mlp.fc2"),
            "open": dict(patch="conv1", cls="class_embedding", pos="positional_embedding", pre="ln_pre",
                         norm="ln_post", n1="ln_1", n2="ln_2", qkv="attn.in_proj_", o="attn.out_proj", f1="mlp.c_fc",
                         f2="mlp.c_proj"),
        }[self.kind].get(what)


class Transformer:
    def __init__(self, names, width, heads, hidden, patch, side, act, eps, cls=True, pre=False, dim=0, pool="", depth=2,
                 table=0):
        self.n, self.w, self.heads, self.act, self.eps = names, width, heads, ACT[act], eps
        self.patch, self.side, self.cls, self.pre, self.dim, self.pool, self.depth = patch, side, cls, pre, dim, pool, depth
        self.hidden, self.shapes = hidden, {}
        n, b, w = names, names.base, width
        add = lambda name, *shape: self.shapes.__setitem__(name, list(shape))
        both = lambda name, out, *i: (add(name + ".weight", out, *i), add(name + ".bias", out))
        flat = names.kind in ("clip", "open")
        add(b + n.of("patch") + ".weight", w, 3, patch, patch)
        if not pre:
            add(b + n.of("patch") + ".bias", w)
        self.table = table or side // patch
        rows = self.table ** 2 + cls
        if cls:
            add(b + n.of("cls"), *([w] if flat else [1, 1, w]))
        add(b + n.of("pos"), *([rows, w] if flat else [1, rows, w]))
        for norm in ("pre",) * pre + ("norm",):
            both(b + n.of(norm), w)
        for i in range(depth):
            p = n.block(i)
            for norm in ("n1", "n2"):
                both(p + n.of(norm), w)
            if n.of("q"):
                for x in "qkv":
                    both(p + n.of(x), w, w)
            elif n.kind == "open":
                add(p + "attn.in_proj_weight", 3 * w, w), add(p + "attn.in_proj_bias", 3 * w)
            else:
                both(p + n.of("qkv"), 3 * w, w)
            both(p + n.of("o"), w, w), both(p + n.of("f1"), hidden, w), both(p + n.of("f2"), w, hidden)
            if n.of("s1"):
                add(p + n.of("s1"), w), add(p + n.of("s2"), w)
        if dim:
            add(*(["visual.proj", w, dim] if n.kind == "open" else ["visual_projection.weight", dim, w]))
        if pool == "hugging":
            h = b + "head."
            add(h + "probe", 1, 1, w), add(h + "attention.in_proj_weight", 3 * w, w), add(h + "attention.in_proj_bias", 3 * w)
            both(h + "attention.out_proj", w, w), both(h + "layernorm", w)
            both(h + "mlp.fc1", hidden, w), both(h + "mlp.fc2", w, hidden)
        if pool == "timm":
            h = "attn_pool."
            add(h + "latent", 1, 1, w), both(h + "q", w, w), both(h + "kv", 2 * w, w), both(h + "proj", w, w)
            both(h + "norm", w), both(h + "mlp.fc1", hidden, w), both(h + "mlp.fc2", w, hidden)

    def attend(self, q, k, v):
        d = self.w // self.heads
        q, k, v = (t.reshape(t.shape[0], -1, self.heads, d).transpose(1, 2) for t in (q, k, v))
        return (torch.softmax(q @ k.transpose(-1, -2) / d ** .5, -1) @ v).transpose(1, 2).flatten(2)

    def run(self, g, x):
        n, b, w = self.n, self.n.base, self.w
        lin = lambda y, name: F.linear(y, g[name + ".weight"], g[name + ".bias"])
        ln = lambda y, name: F.layer_norm(y, (w,), g[name + ".weight"], g[name + ".bias"], self.eps)
        x = F.conv2d(x, g[b + n.of("patch") + ".weight"], g.get(b + n.of("patch") + ".bias"), stride=self.patch)
        x = x.flatten(2).transpose(1, 2)
        if self.cls:
            x = torch.cat([g[b + n.of("cls")].reshape(1, 1, w).expand(len(x), 1, w), x], 1)
        pos, now = g[b + n.of("pos")].reshape(1, -1, w), self.side // self.patch
        if now != self.table:  # as transformers does
            grid = pos[:, 1:].reshape(1, self.table, self.table, w).permute(0, 3, 1, 2)
            grid = F.interpolate(grid, size=(now, now), mode="bicubic", align_corners=False)
            pos = torch.cat([pos[:, :1], grid.flatten(2).transpose(1, 2)], 1)
        x = x + pos
        if self.pre:
            x = ln(x, b + n.of("pre"))
        for i in range(self.depth):
            p = n.block(i)
            y = ln(x, p + n.of("n1"))
            if n.of("q"):
                q, k, v = (lin(y, p + n.of(c)) for c in "qkv")
            elif n.kind == "open":
                q, k, v = F.linear(y, g[p + "attn.in_proj_weight"], g[p + "attn.in_proj_bias"]).chunk(3, -1)
            else:
                q, k, v = lin(y, p + n.of("qkv")).chunk(3, -1)
            y = lin(self.attend(q, k, v), p + n.of("o"))
            x = x + (y * g[p + n.of("s1")] if n.of("s1") else y)
            y = lin(self.act(lin(ln(x, p + n.of("n2")), p + n.of("f1"))), p + n.of("f2"))
            x = x + (y * g[p + n.of("s2")] if n.of("s2") else y)
        x = ln(x, b + n.of("norm"))
        if self.pool == "hugging":
            h = b + "head."
            q, k, v = (F.linear(t, a, c) for t, a, c in zip(
                (g[h + "probe"].expand(len(x), 1, w), x, x), g[h + "attention.in_proj_weight"].chunk(3),
                g[h + "attention.in_proj_bias"].chunk(3)))
            y = lin(self.attend(q, k, v), h + "attention.out_proj")
            return (y + lin(self.act(lin(ln(y, h + "layernorm"), h + "mlp.fc1")), h + "mlp.fc2"))[:, 0]
        if self.pool == "timm":
            h = "attn_pool."
            k, v = lin(x, h + "kv").chunk(2, -1)
            y = lin(self.attend(lin(g[h + "latent"].expand(len(x), 1, w), h + "q"), k, v), h + "proj")
            return (y + lin(self.act(lin(ln(y, h + "norm"), h + "mlp.fc1")), h + "mlp.fc2"))[:, 0]
        x = x[:, 0]
        if self.dim:
            x = x @ g["visual.proj"] if n.kind == "open" else F.linear(x, g["visual_projection.weight"])
        return x


class ConvNeXt:
    side, patch = 64, 32

    def __init__(self, width, last):
        self.w, self.last, self.shapes = width, last, {}
        add = lambda name, *shape: self.shapes.__setitem__(name, list(shape))
        both = lambda name, out, *i: (add(name + ".weight", out, *i), add(name + ".bias", out))
        both("convnext.embeddings.patch_embeddings", width, 3, 4, 4), both("convnext.embeddings.layernorm", width)
        for i, n in enumerate((3, 3, 9, 3)):
            p, w = f"convnext.encoder.stages.{i}.", width << i
            if i:
                both(p + "downsampling_layer.0", w // 2), both(p + "downsampling_layer.1", w, w // 2, 2, 2)
            for k in range(n):
                q = p + f"layers.{k}."
                both(q + "dwconv", w, 1, 7, 7), both(q + "layernorm", w), both(q + "pwconv1", 4 * w, w)
                both(q + "pwconv2", w, 4 * w), add(q + "layer_scale_parameter", w)
        both("convnext.layernorm", 8 * width)

    def run(self, g, x):
        conv = lambda y, name, **k: F.conv2d(y, g[name + ".weight"], g[name + ".bias"], **k)
        lin = lambda y, name: F.linear(y, g[name + ".weight"], g[name + ".bias"])
        ln = lambda y, name, eps=1e-6: F.layer_norm(y, (y.shape[-1],), g[name + ".weight"], g[name + ".bias"], eps)
        first = lambda y, name: ln(y.permute(0, 2, 3, 1), name).permute(0, 3, 1, 2)
        x = first(conv(x, "convnext.embeddings.patch_embeddings", stride=4), "convnext.embeddings.layernorm")
        for i, n in enumerate((3, 3, 9, 3)):
            p = f"convnext.encoder.stages.{i}."
            if i:
                x = conv(first(x, p + "downsampling_layer.0"), p + "downsampling_layer.1", stride=2)
            for k in range(n):
                q = p + f"layers.{k}."
                y = conv(x, q + "dwconv", padding=3, groups=x.shape[1]).permute(0, 2, 3, 1)
                y = lin(F.gelu(lin(ln(y, q + "layernorm"), q + "pwconv1")), q + "pwconv2")
                x = x + (y * g[q + "layer_scale_parameter"]).permute(0, 3, 1, 2)
        return ln(x.mean((2, 3)), "convnext.layernorm", self.last)


class Mobile:
    """EfficientNet-B0 and MobileNet v3 small by timm's names: torchvision's layers, with another padding and epsilon."""
    side, patch = 64, 32

    def __init__(self, arch, same, eps):
        import torchvision
        from torch import nn
        self.v3 = "v3" in arch
        self.m = (torchvision.models.mobilenet_v3_small if self.v3 else torchvision.models.efficientnet_b0)(weights=None).eval()
        self.tensors = {}
        for c in self.m.modules():
            if isinstance(c, nn.BatchNorm2d):
                c.eps = eps
            if same and isinstance(c, nn.Conv2d) and c.stride[0] == 2:
                c.padding = (0, 0)
                c.forward = lambda x, c=c, f=c.forward: f(F.pad(x, self.zeros(x.shape[3], c.kernel_size[0]) +
                                                                self.zeros(x.shape[2], c.kernel_size[0])))
        f = self.m.features
        self.put("conv_stem", f[0][0]), self.put("bn1", f[0][1])
        blocks = [[f[1]], list(f[2:4]), list(f[4:7]), list(f[7:9]), list(f[9:12])] if self.v3 else [list(s) for s in f[1:8]]
        for i, stage in enumerate(blocks):
            for k, b in enumerate(stage):
                self.block(f"blocks.{i}.{k}.", list(b.block))
        if self.v3:
            self.put("blocks.5.0.conv", f[12][0]), self.put("blocks.5.0.bn1", f[12][1])
            self.put("conv_head", self.m.classifier[0])
        else:
            self.put("conv_head", f[8][0]), self.put("bn2", f[8][1])
        self.shapes = {k: list(v.shape) for k, v in self.tensors.items()}
        self.shapes.update({k: [*s, 1, 1] for k, s in self.shapes.items() if k == "conv_head.weight" and self.v3})

    @staticmethod
    def zeros(n, kernel):
        p = max((-(-n // 2) - 1) * 2 + kernel - n, 0)
        return (p // 2, p - p // 2)

    def put(self, name, layer):
        for k, v in layer.state_dict().items():
            if k != "num_batches_tracked":
                self.tensors[f"{name}.{k}"] = v

    def block(self, to, parts):
        convs = [p for p in parts if not hasattr(p, "fc1")]
        names = [("conv_pw", "bn1"), ("conv_dw", "bn2"), ("conv_pwl", "bn3")] if len(convs) == 3 else \
            [("conv_dw", "bn1"), ("conv_pw", "bn2")]
        for c, (a, b) in zip(convs, names):
            self.put(to + a, c[0]), self.put(to + b, c[1])
        for p in parts:
            if hasattr(p, "fc1"):
                self.put(to + "se.conv_reduce", p.fc1), self.put(to + "se.conv_expand", p.fc2)

    def run(self, g, x):
        with torch.no_grad():
            for name, v in self.tensors.items():
                v.copy_(g[name].reshape(v.shape))
            x = self.m.avgpool(self.m.features(x)).flatten(1)
            return self.m.classifier[:2](x) if self.v3 else x


def hugging(kind, t, act, eps=None, **more):
    """config.json of transformers for a tower t."""
    c = dict(hidden_size=t.w, num_attention_heads=t.heads, num_hidden_layers=t.depth, intermediate_size=t.hidden,
             hidden_act=act, image_size=t.side, patch_size=t.patch, num_channels=3, attention_dropout=0.0,
             layer_norm_eps=t.eps, initializer_range=0.02)
    if kind in ("clip", "siglip"):
        c = dict(model_type=kind, torch_dtype="float32", text_config=dict(hidden_size=64, model_type=kind + "_text_model"),
                 vision_config=dict(c, model_type=kind + "_vision_model"))
        return dict(c, projection_dim=t.dim, logit_scale_init_value=2.6592) if t.dim else c
    return dict(c, model_type=kind, architectures=["Model"], transformers_version="4.50.0", **more)


def cases(full):
    """name, network, configuration, extra tensors. full has the published widths, and otherwise two heads."""
    def size(width, heads, hidden=0):
        d = width // heads
        return (width, heads, hidden or 4 * width) if full else (2 * d, 2, (hidden or 4 * width) * 2 * d // width)
    def tower(kind, base, dims, patch, act, eps, **more):
        return Transformer(Names(kind, base), *size(*dims), patch, (224 // patch if full else 2) * patch, act, eps, **more)
    dim = 512 if full else 24
    t = tower("vit", "vit.", (768, 12), 16, "gelu", 1e-12)
    yield "vit_base_patch16", t, hugging("vit", t, "gelu", qkv_bias=True, hidden_dropout_prob=0.0, encoder_stride=16), {}
    t = tower("vit", "vit.", (1280, 16), 14, "gelu", 1e-12)
    yield "vit_huge_patch14", t, hugging("vit", t, "gelu", qkv_bias=True), {"vit.pooler.dense.weight": [t.w, t.w]}
    yield "vit_mae_huge", t, hugging("vit_mae", t, "gelu", mask_ratio=0.75, norm_pix_loss=False, decoder_hidden_size=32,
                                     decoder_num_attention_heads=16, decoder_num_hidden_layers=3), \
        {f"decoder.decoder_layers.{i}.intermediate.dense.weight": [128, 32] for i in range(3)}
    t = tower("clip", "vision_model.", (768, 12), 32, "quick_gelu", 1e-5, pre=True, dim=dim)
    yield "openai_clip_b32", t, hugging("clip", t, "quick_gelu"), {"logit_scale": [1]}
    t = tower("clip", "vision_model.", (1280, 16), 14, "gelu", 1e-5, pre=True, dim=dim)
    yield "laion_clip_h14", t, hugging("clip", t, "gelu"), {}
    for name, width, hidden, ratio, wide in ("g14", 1408, 6144, 4.3637, 88), ("bigG14", 1664, 8192, 4.9231, 104):
        t = tower("open", "visual.", (width, 16, hidden), 14, "gelu", 1e-5, pre=True, dim=dim)
        yield "open_clip_" + name, t, {"model_cfg": {"embed_dim": dim, "vision_cfg": {
            "image_size": t.side, "layers": t.depth, "width": t.w, "head_width": wide, "mlp_ratio": ratio,
            "patch_size": 14}, "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 1024, "heads": 16,
                                            "layers": 24}}, "preprocess_cfg": {"mean": [.5] * 3, "std": [.5] * 3}}, {}
    t = tower("dinov2", "", (768, 12), 14, "gelu", 1e-6)
    yield "dinov2_base", t, hugging("dinov2", t, "gelu", mlp_ratio=4, qkv_bias=True, layerscale_value=1.0,
                                    use_swiglu_ffn=False, apply_layernorm=True), {"embeddings.mask_token": [1, t.w]}
    t = tower("dinov2", "", (768, 12), 14, "gelu", 1e-6, table=37 if full else 7)
    yield "dinov2_base_resized", t, {**hugging("dinov2", t, "gelu", mlp_ratio=4), "image_size": 14 * t.table}, {}
    for name, width, hidden, patch in ("so400m", 1152, 4304, 14), ("2_giant", 1536, 6144, 16):
        t = tower("clip", "vision_model.", (width, 16, hidden), patch, "gelu_tanh", 1e-6, cls=False, pool="hugging")
        yield "siglip" + name, t, hugging("siglip", t, "gelu_pytorch_tanh"), {}
    def timm(arch, pool="token", **more):
        return {"architecture": arch, "num_classes": 0, "num_features": 8, "global_pool": pool, "pretrained_cfg": {
            "mean": [.5] * 3, "std": [.5] * 3, "input_size": [3, more["side"]] + [more["side"]], "crop_pct": 1.0,
            "interpolation": "bicubic", "fixed_input_size": True}}
    t = tower("timm", "", (1280, 16), 14, "quick_gelu", 1e-5, pre=True)
    yield "timm_huge_clip_quickgelu", t, timm("vit_huge_patch14_clip_quickgelu_224", side=t.side), {}
    t = tower("timm", "", (768, 12), 16, "gelu", 1e-6, cls=False, pool="timm")
    yield "timm_base_siglip", t, timm("vit_base_patch16_siglip_224", "map", side=t.side), {}
    t = ConvNeXt(96 if full else 16, 1e-12)
    yield "convnext_tiny", t, dict(model_type="convnext", depths=[3, 3, 9, 3], hidden_sizes=[t.w << i for i in range(4)],
                                   hidden_act="gelu", layer_norm_eps=1e-12, patch_size=4, num_stages=4, num_channels=3,
                                   layer_scale_init_value=1e-6, drop_path_rate=0.0, image_size=224), {}
    for arch, same, eps in ("tf_efficientnet_b0", True, 1e-3), ("mobilenetv3_small_100", False, 1e-5):
        t = Mobile(arch, same, eps)
        yield arch, t, timm(arch, "avg", side=t.side), {"classifier.bias": [10]}


def cosine(a, b):
    return float((1 - F.cosine_similarity(a.double(), b.double())).max())


def save(path, tensors):
    header, at = {}, 0
    for name, t in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + 4 * t.numel()]}
        at += 4 * t.numel()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for t in tensors.values():
            f.write(t.contiguous().numpy().tobytes())


def compare(program, only):
    from PIL import Image
    os.chdir(tempfile.mkdtemp())
    for name, t, config, extra in cases(True):
        if only not in name:
            continue
        g = {k: value(k, s) for k, s in {**t.shapes, **extra}.items()}
        os.makedirs(name + "/photos")
        is_open = "model_cfg" in config
        json.dump(config, open(f"{name}/{'open_clip_config' if is_open else 'config'}.json", "w"))
        save(f"{name}/{'open_clip_model' if is_open else 'model'}.safetensors", g)
        json.dump({"image_mean": [.5] * 3, "image_std": [.5] * 3, "size": {"height": t.side, "width": t.side}},
                  open(name + "/preprocessor_config.json", "w"))
        pixels = [np.uint8((uniform(f"photo {i}", 3 * t.side ** 2) + 1) * 127.9).reshape(t.side, t.side, 3) for i in range(2)]
        for i, p in enumerate(pixels):
            Image.fromarray(p).save(f"{name}/photos/{i}.png")
        r = subprocess.run([program, "embed", "--network", name, name + "/photos", "--out", name + ".csv"],
                           capture_output=True, text=True)
        if r.returncode:
            print(f"{name:26s} refused: {r.stderr.strip()}")
            continue
        got = torch.tensor([[float(v) for k, v in row.items() if k.startswith("embedding_")]
                            for row in csv.DictReader(open(name + ".csv"))])
        x = torch.tensor(np.stack(pixels)).permute(0, 3, 1, 2).float() / 255
        want = t.run(g, (x - .5) / .5)
        print(f"{name:26s} cosine distance to torch {cosine(got, want):.1e}; two photos are {cosine(want[:1], want[1:]):.1e} apart")


def main():
    torch.set_grad_enabled(False)
    if sys.argv[1:2] == ["full"]:
        return compare(sys.argv[2], "".join(sys.argv[3:4]))
    out = []
    for name, t, config, extra in cases(False):
        shapes = {**t.shapes, **extra}
        x = torch.tensor(uniform("images", 2 * 3 * t.side ** 2).reshape(2, 3, t.side, t.side))
        y = t.run({k: value(k, s) for k, s in shapes.items()}, x)
        step = max(1, y.shape[1] // 32)  # some of the numbers are enough
        out.append({"name": name, "config": config, "side": t.side, "dim": y.shape[1], "step": step,
                    "embedding": [[float("%.6g" % v) for v in row[::step]] for row in y], "tensors": shapes})
        print(name, y.shape, cosine(y[:1], y[1:]))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "goldens.json.gz"), "wb") as f:
        f.write(gzip.compress(json.dumps(out, separators=(",", ":")).encode(), mtime=0))


if __name__ == "__main__":
    main()
