#!/usr/bin/env python3
"""Writes small DINOv3 and SigLIP networks that golden_test.go compares with: weights by the
names of timm and of Hugging Face, and the embeddings and gradients of a few images, which
PyTorch computed in float64.

Needs Debian's python3-torch and the source of timm in PYTHONPATH:
    PYTHONPATH=pytorch-image-models /usr/bin/python3 nn/zoo/testdata/gen_transformers.py nn/zoo/testdata
timm's networks are timm's. Those with Hugging Face's names are written here from the
definition, and give the same embeddings.
"""
import json, math, struct, sys, types
from functools import partial
import torch
from torch import nn
from torch.nn import functional as F

WIDTH, DEPTH, HEADS, PATCH, HIDDEN, REGISTERS = 24, 2, 2, 8, 96, 3
IMAGES, HEIGHT, BREADTH = 3, 40, 24


class Stub:
    def __init__(self, *a, **k):
        pass

    def __call__(self, *a, **k):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def timm():
    """timm's modules. What it loads weights with is not needed."""
    for name in ("huggingface_hub", "huggingface_hub.utils", "safetensors", "safetensors.torch"):
        m = types.ModuleType(name)
        m.__path__, m.__getattr__ = [], lambda n: Stub().__getattr__(n)
        sys.modules[name] = m
    for name in ("EntryNotFoundError", "RepositoryNotFoundError"):
        setattr(sys.modules["huggingface_hub.utils"], name, type(name, (Exception,), {}))
    from timm.layers import LayerNorm
    from timm.models.eva import Eva
    from timm.models.vision_transformer import VisionTransformer
    common = dict(img_size=(HEIGHT, BREADTH), patch_size=PATCH, embed_dim=WIDTH, depth=DEPTH, num_heads=HEADS,
                  num_classes=0)
    eva = partial(Eva, qkv_bias=True, init_values=1e-5, rope_type="dinov3", rope_temperature=100, rope_rotate_half=True,
                  use_rot_pos_emb=True, use_abs_pos_emb=False, num_reg_tokens=REGISTERS, use_fc_norm=False,
                  norm_layer=partial(LayerNorm, eps=1e-5), global_pool="token", **common)
    return {"dinov3": eva(), "dinov3_plus": eva(swiglu_mlp=True, swiglu_align_to=8), "siglip": VisionTransformer(
        class_token=False, global_pool="map", act_layer="gelu_tanh", **common)}


def tokens(n):
    return nn.Parameter(torch.zeros(1, n, WIDTH))


def attend(q, k, v, turn=lambda x: x):
    heads = lambda x: x.unflatten(2, (HEADS, -1)).transpose(1, 2)
    q, k, v = turn(heads(q)), turn(heads(k)), heads(v)
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1).matmul(v).transpose(1, 2).flatten(2)


class DINOv3(nn.Module):
    """With Hugging Face's names."""
    def __init__(self):
        super().__init__()
        self.embeddings, self.layer, self.norm = nn.Module(), nn.ModuleList(), nn.LayerNorm(WIDTH, 1e-5)
        self.embeddings.cls_token, self.embeddings.mask_token = tokens(1), tokens(1)
        self.embeddings.register_tokens = tokens(REGISTERS)
        self.embeddings.patch_embeddings = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        for _ in range(DEPTH):
            b = nn.Module()
            b.norm1, b.norm2 = nn.LayerNorm(WIDTH, 1e-5), nn.LayerNorm(WIDTH, 1e-5)
            b.attention, b.mlp, b.layer_scale1, b.layer_scale2 = (nn.Module() for _ in range(4))
            for name in "qkvo":
                setattr(b.attention, name + "_proj", nn.Linear(WIDTH, WIDTH, bias=name != "k"))
            b.layer_scale1.lambda1, b.layer_scale2.lambda1 = nn.Parameter(torch.ones(WIDTH)), nn.Parameter(torch.ones(WIDTH))
            b.mlp.up_proj, b.mlp.down_proj = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
            self.layer.append(b)

    def forward(self, x):
        x = self.embeddings.patch_embeddings(x)
        rows, columns = (torch.arange(n, dtype=x.dtype).add(0.5).div(n).mul(2).sub(1) for n in x.shape[2:])
        quarter = WIDTH // HEADS // 4
        speeds = 2 * math.pi / 100 ** (torch.arange(quarter, dtype=x.dtype) / quarter)
        angles = torch.cartesian_prod(rows, columns)[:, :, None] * speeds
        angles = angles.flatten(1).tile(2)

        def turn(x):
            first, rest = x[:, :, :1 + REGISTERS], x[:, :, 1 + REGISTERS:]
            a, b = rest.chunk(2, -1)
            return torch.cat([first, rest * angles.cos() + torch.cat([-b, a], -1) * angles.sin()], 2)

        e = self.embeddings
        own = torch.cat([e.cls_token, e.register_tokens], 1).expand(len(x), -1, -1)
        x = torch.cat([own, x.flatten(2).mT], 1)
        for b in self.layer:
            y, a = b.norm1(x), b.attention
            x = x + a.o_proj(attend(a.q_proj(y), a.k_proj(y), a.v_proj(y), turn)) * b.layer_scale1.lambda1
            x = x + b.mlp.down_proj(F.gelu(b.mlp.up_proj(b.norm2(x)))) * b.layer_scale2.lambda1
        return self.norm(x)[:, 0]


class SigLIP(nn.Module):
    """With Hugging Face's names."""
    def __init__(self):
        super().__init__()
        self.vision_model = m = nn.Module()
        norm = lambda: nn.LayerNorm(WIDTH, 1e-6)

        def perceptron():
            p = nn.Module()
            p.fc1, p.fc2 = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
            return p

        m.embeddings, m.encoder, m.head, m.post_layernorm = nn.Module(), nn.Module(), nn.Module(), norm()
        m.embeddings.patch_embedding = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        m.embeddings.position_embedding = nn.Embedding(HEIGHT * BREADTH // PATCH ** 2, WIDTH)
        m.encoder.layers = nn.ModuleList()
        for _ in range(DEPTH):
            b = nn.Module()
            b.layer_norm1, b.layer_norm2, b.mlp, b.self_attn = norm(), norm(), perceptron(), nn.Module()
            for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
                setattr(b.self_attn, name, nn.Linear(WIDTH, WIDTH))
            m.encoder.layers.append(b)
        m.head.probe = tokens(1)
        m.head.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        m.head.layernorm, m.head.mlp = norm(), perceptron()

    def forward(self, x):
        m = self.vision_model
        run = lambda p, x: p.fc2(F.gelu(p.fc1(x), approximate="tanh"))
        x = m.embeddings.patch_embedding(x).flatten(2).mT + m.embeddings.position_embedding.weight
        for b in m.encoder.layers:
            y, a = b.layer_norm1(x), b.self_attn
            x = x + a.out_proj(attend(a.q_proj(y), a.k_proj(y), a.v_proj(y)))
            x = x + run(b.mlp, b.layer_norm2(x))
        x = m.post_layernorm(x)
        x = m.head.attention(m.head.probe.expand(len(x), -1, -1), x, x)[0]
        return (x + run(m.head.mlp, m.head.layernorm(x)))[:, 0]


def write(path, tensors):
    header, data = {}, b""
    for name, v in tensors.items():
        kind = {torch.float16: "F16", torch.float32: "F32"}[v.dtype]
        raw = v.contiguous().numpy().tobytes()
        header[name] = {"dtype": kind, "shape": list(v.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    h = json.dumps(header).encode()
    h += b" " * (-len(h) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(h)) + h + data)


def draw(model):
    """Sets parameters to values that float16 holds."""
    for name, p in model.named_parameters():
        v = torch.randn(p.shape, dtype=torch.float64)
        if p.dim() > 1 and "token" not in name:
            v = v / math.sqrt(p[0].numel()) if "embed" not in name or p.dim() == 4 else v / 2
        elif "norm" in name and name.endswith("weight") or "gamma" in name or "lambda" in name:
            v = 1 + v / 4
        else:
            v = v / 4
        p.data = v.half().double()


def make(path, name, model):
    torch.manual_seed(56)
    x = torch.randn(IMAGES, 3, HEIGHT, BREADTH).half().double()
    slope = torch.randn(IMAGES, WIDTH).half().double()
    draw(model)
    model = model.double().eval()
    y = model(x)
    (y * slope).sum().backward()
    weights = {n: p.detach().half() for n, p in model.named_parameters()}
    write(f"{path}/{name}.safetensors", weights)
    got = {"check.image": x.half(), "check.slope": slope.half(), "check.embedding": y.detach().float()}
    got.update({n: p.grad.float() for n, p in model.named_parameters() if p.grad is not None})
    write(f"{path}/{name}_grad.safetensors", got)


def same(a, b, names):
    """Requires that both networks make the same embeddings of the same weights."""
    state, other = a.state_dict(), b.state_dict()
    for theirs, ours in names(other):
        other[theirs].copy_(torch.cat([state[o] for o in ours]).reshape(other[theirs].shape))
    x = torch.randn(2, 3, HEIGHT, BREADTH).double()
    diff = (a.double().eval()(x) - b.double().eval()(x)).abs().max().item()
    assert diff < 1e-6, diff  # timm computes angles in float32


def dinov3_names(other):
    for name in other:
        n, rest = name.split(".")[1], ".".join(name.split(".")[2:])
        ours = {"embeddings.cls_token": ["cls_token"], "embeddings.register_tokens": ["reg_token"],
                "embeddings.patch_embeddings.weight": ["patch_embed.proj.weight"],
                "embeddings.patch_embeddings.bias": ["patch_embed.proj.bias"], "norm.weight": ["norm.weight"],
                "norm.bias": ["norm.bias"]}.get(name)
        if name.startswith("layer"):
            for a, b in (("attention.o_proj", "attn.proj"), ("attention.q_proj.bias", "attn.q_bias"),
                         ("attention.v_proj.bias", "attn.v_bias"), ("mlp.up_proj", "mlp.fc1"),
                         ("mlp.down_proj", "mlp.fc2"), ("layer_scale1.lambda1", "gamma_1"),
                         ("layer_scale2.lambda1", "gamma_2")):
                rest = rest.replace(a, b)
            ours = [f"blocks.{n}.{rest}"]
        if ours and "_proj.weight" not in ours[0]:
            yield name, ours


def main(folder):
    models = timm()
    for name, model in models.items():
        make(folder, name + "_timm", model)
    for name, model in (("dinov3", DINOv3()), ("siglip", SigLIP())):
        make(folder, name + "_hugging", model)
    compare(models)


def compare(models):
    """Both ways to write a network agree."""
    ours = models["dinov3"].state_dict()
    other = DINOv3().double()
    other.state_dict()["embeddings.mask_token"].zero_()
    for i in range(DEPTH):
        parts = ours[f"blocks.{i}.attn.qkv.weight"].chunk(3)
        for name, part in zip("qkv", parts):
            other.state_dict()[f"layer.{i}.attention.{name}_proj.weight"].copy_(part)
    same(models["dinov3"], other, dinov3_names)
    ours, other = models["siglip"].state_dict(), SigLIP().double()
    theirs = other.state_dict()
    table = {"embeddings.patch_embedding": "patch_embed.proj", "post_layernorm": "norm", "head.layernorm": "attn_pool.norm",
             "head.mlp.fc1": "attn_pool.mlp.fc1", "head.mlp.fc2": "attn_pool.mlp.fc2", "head.probe": "attn_pool.latent",
             "head.attention.out_proj": "attn_pool.proj", "embeddings.position_embedding.weight": "pos_embed"}
    for name in theirs:
        for a, b in table.items():
            if name.startswith("vision_model." + a):
                theirs[name].copy_(ours[name.replace("vision_model." + a, b)].reshape(theirs[name].shape))
    for kind in ("weight", "bias"):
        whole = torch.cat([ours[f"attn_pool.{part}.{kind}"] for part in ("q", "kv")])
        theirs[f"vision_model.head.attention.in_proj_{kind}"].copy_(whole)
        for i in range(DEPTH):
            at, to = f"blocks.{i}.", f"vision_model.encoder.layers.{i}."
            for name, part in zip("qkv", ours[f"{at}attn.qkv.{kind}"].chunk(3)):
                theirs[f"{to}self_attn.{name}_proj.{kind}"].copy_(part)
            for a, b in (("layer_norm1", "norm1"), ("layer_norm2", "norm2"), ("mlp.fc1", "mlp.fc1"), ("mlp.fc2", "mlp.fc2"),
                         ("self_attn.out_proj", "attn.proj")):
                theirs[f"{to}{a}.{kind}"].copy_(ours[f"{at}{b}.{kind}"])
    same(models["siglip"], other, lambda _: ())


if __name__ == "__main__":
    main(sys.argv[1])
