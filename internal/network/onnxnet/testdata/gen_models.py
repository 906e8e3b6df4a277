"""Writes the models that the tests import, as PyTorch exports them, and beside each
(NAME.safetensors) an input and what PyTorch makes of it in float64: "features" are
what remains when the classifier is cut off, "output" is the model's own.

    python3 gen_models.py        (PyTorch 1.13, torchvision 0.14)
"""
import json
import math
import struct

import torch
import torchvision
from torch import nn
from torch.nn import functional as F


def save(path, tensors):
    header, data = {}, b""
    for name, t in tensors.items():
        b = t.detach().float().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(b)]}
        data += b
    h = json.dumps(header).encode()
    h += b" " * (-len(h) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(h)) + h + data)


def randomize(model):
    """Weights large enough that every part shows in the output."""
    for name, p in model.named_parameters():
        with torch.no_grad():
            if p.dim() < 2:
                p.add_(torch.randn_like(p) * 0.2)
            else:
                p.mul_(1.3)
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.3)
            m.running_var.uniform_(0.5, 2)


def write(name, model, size=16, channels=3, opset=13, head=None, batch=2, dynamic=True, **options):
    """head is the classifier, whose input are the features."""
    torch.manual_seed(len(name))
    randomize(model)
    model.eval()
    kept = {}
    if head is not None:
        head(model).register_forward_pre_hook(lambda m, x: kept.__setitem__("features", x[0]))
    x = torch.randn(batch, channels, size, size)
    axes = {"image": {0: "batch"}} if dynamic else None
    torch.onnx.export(model, x[:1], name + ".onnx", opset_version=opset, input_names=["image"],
                      output_names=["logits"], dynamic_axes=axes, **options)
    model.double()
    y = model(x.double())
    save(name + ".safetensors", {"x": x, "features": kept.get("features", y).flatten(1), "output": y.flatten(1)})


class Fn(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


def conv(a, b, k=3, s=1, act=nn.ReLU, **o):
    return nn.Sequential(nn.Conv2d(a, b, k, s, k // 2, bias=False, **o), nn.BatchNorm2d(b), act())


class Residual(nn.Module):
    def __init__(self, a, b, s):
        super().__init__()
        self.conv1 = nn.Conv2d(a, b, 3, s, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(b)
        self.conv2 = nn.Conv2d(b, b, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(b)
        self.down = nn.Sequential(nn.Conv2d(a, b, 1, s, bias=False), nn.BatchNorm2d(b)) if a != b or s != 1 else None

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.down is None else self.down(x)))


class Net(nn.Module):
    """A body, a pool and a classifier."""

    def __init__(self, body, width, pool=None):
        super().__init__()
        self.body, self.pool, self.head = body, pool or nn.AdaptiveAvgPool2d(1), nn.Linear(width, 5)

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.body(x)), 1))


class Squeeze(nn.Module):
    def __init__(self, c, mid, act, gate):
        super().__init__()
        self.a, self.b, self.act, self.gate = nn.Conv2d(c, mid, 1), nn.Conv2d(mid, c, 1), act, gate

    def forward(self, x):
        s = x.mean((2, 3), keepdim=True)
        return x * self.gate(self.b(self.act(self.a(s))))


class ChannelNorm(nn.Module):
    """Layer norm over channels, channels in front, in pieces."""

    def __init__(self, c):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(c)), nn.Parameter(torch.zeros(c))

    def forward(self, x):
        u = x.mean(1, keepdim=True)
        s = (x - u).pow(2).mean(1, keepdim=True)
        x = (x - u) / torch.sqrt(s + 1e-6)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class Next(nn.Module):
    def __init__(self, c, act=nn.GELU):
        super().__init__()
        self.dwconv = nn.Conv2d(c, c, 7, 1, 3, groups=c)
        self.norm = nn.LayerNorm(c, eps=1e-6)
        self.pwconv1, self.act, self.pwconv2 = nn.Linear(c, 2 * c), act(), nn.Linear(2 * c, c)
        self.gamma = nn.Parameter(torch.ones(c) * 0.5)

    def forward(self, x):
        y = self.norm(self.dwconv(x).permute(0, 2, 3, 1))
        y = self.gamma * self.pwconv2(self.act(self.pwconv1(y)))
        return x + y.permute(0, 3, 1, 2)


def gelu_pieces(x):
    return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))


def gelu_new(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class Fused(nn.Module):
    """Attention as timm writes it."""

    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        a = (q @ k.transpose(-2, -1)) * (c // self.heads) ** -0.5
        return self.proj((a.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c))


class Separate(nn.Module):
    """Attention as Hugging Face writes it; scale is another than the usual one."""

    def __init__(self, d, heads, bias=True, scale=None):
        super().__init__()
        self.heads, self.size = heads, d // heads
        self.query, self.key, self.value = (nn.Linear(d, d, bias=b) for b in (bias, False, bias))
        self.out, self.scale = nn.Linear(d, d), scale or math.sqrt(self.size)

    def split(self, x):
        return x.view(x.size()[:-1] + (self.heads, self.size)).permute(0, 2, 1, 3)

    def forward(self, x):
        k, v, q = self.split(self.key(x)), self.split(self.value(x)), self.split(self.query(x))
        a = torch.matmul(q, k.transpose(-1, -2)) / self.scale
        y = torch.matmul(F.softmax(a, dim=-1), v).permute(0, 2, 1, 3).contiguous()
        return self.out(y.view(y.size()[:-2] + (self.heads * self.size,)))


class Batched(nn.Module):
    """Attention as CLIP writes it: scaled queries, heads in the batch."""

    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.size = heads, d // heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d, d) for _ in range(4))

    def forward(self, x):
        b, n, d = x.shape
        shape = lambda t: t.view(b, -1, self.heads, self.size).transpose(1, 2).reshape(b * self.heads, -1, self.size)
        q, k, v = shape(self.q_proj(x) * self.size ** -0.5), shape(self.k_proj(x)), shape(self.v_proj(x))
        y = torch.bmm(F.softmax(torch.bmm(q, k.transpose(1, 2)), dim=-1), v)
        return self.out_proj(y.view(b, self.heads, n, self.size).transpose(1, 2).reshape(b, n, d))


class Torch(nn.Module):
    """PyTorch's own, which wants the sequence in front."""

    def __init__(self, d, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(d, heads)

    def forward(self, x):
        x = x.transpose(0, 1)
        return self.attn(x, x, x, need_weights=False)[0].transpose(0, 1)


class Block(nn.Module):
    def __init__(self, d, attention, act, scale=False):
        super().__init__()
        self.norm1, self.attn, self.norm2 = nn.LayerNorm(d), attention, nn.LayerNorm(d)
        self.fc1, self.act, self.fc2 = nn.Linear(d, 2 * d), act, nn.Linear(2 * d, d)
        self.gamma = nn.Parameter(torch.ones(d)) if scale else None

    def forward(self, x):
        y = self.attn(self.norm1(x))
        x = x + (y if self.gamma is None else y * self.gamma)
        return x + self.fc2(self.act(self.fc1(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, attention, act, d=12, patch=4, size=16, token=True, registers=0, mean=False, scale=False,
                 pre=False, project=0, classes=5):
        super().__init__()
        n = (size // patch) ** 2
        self.patch_embed = nn.Conv2d(3, d, patch, patch, bias=not pre)
        self.cls_token = nn.Parameter(torch.randn(1, 1, d)) if token else None
        self.registers = nn.Parameter(torch.randn(1, registers, d)) if registers else None
        self.pos_embed = nn.Parameter(torch.randn(1, n + bool(token), d) * 0.5)
        self.pre = nn.LayerNorm(d) if pre else None
        self.blocks = nn.Sequential(*(Block(d, attention(d), act, scale) for _ in range(2)))
        self.norm, self.mean, self.skip = nn.LayerNorm(d, eps=1e-6), mean, bool(token) + registers
        self.project = nn.Parameter(torch.randn(d, project)) if project else None
        self.head = nn.Linear(project or d, classes) if classes else nn.Identity()

    def forward(self, x):
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        if self.cls_token is not None:
            x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1)
        x = x + self.pos_embed
        if self.registers is not None:
            x = torch.cat((x[:, :1], self.registers.expand(x.shape[0], -1, -1), x[:, 1:]), dim=1)
        if self.pre is not None:
            x = self.pre(x)
        x = self.norm(self.blocks(x))
        x = x[:, self.skip:].mean(1) if self.mean else x[:, 0]
        if self.project is not None:
            x = x @ self.project
            x = x / x.norm(dim=-1, keepdim=True)
        return self.head(x)


class Last(nn.Module):
    """Channels last with transposes around convolutions, norms as products and sums, as TensorFlow's exporter writes."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 6, 3, 2, bias=False), nn.Conv2d(6, 8, 1, bias=False)
        self.scale, self.shift, self.bias = (nn.Parameter(torch.ones(n)) for n in (6, 6, 8))
        self.mid, self.head = nn.Parameter(torch.randn(8, 8)), nn.Linear(8, 5)

    def forward(self, x):
        x = self.a(F.pad(x, (0, 0, 0, 1, 0, 1)).permute(0, 3, 1, 2)) * self.scale[:, None, None]
        x = F.relu((x + self.shift[:, None, None]).permute(0, 2, 3, 1))
        x = F.relu(self.b(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1) + self.bias)
        return self.head((x @ self.mid).mean((1, 2)))


def write_last():
    """Last has its channels last in the input."""
    torch.manual_seed(4)
    model = Last()
    randomize(model)
    x, kept = torch.randn(2, 3, 8, 8), {}
    torch.onnx.export(model, x[:1].permute(0, 2, 3, 1), "last.onnx", opset_version=13, input_names=["image"],
                      output_names=["logits"], dynamic_axes={"image": {0: "batch"}})
    model.double()
    model.head.register_forward_pre_hook(lambda m, x: kept.__setitem__("features", x[0]))
    y = model(x.double().permute(0, 2, 3, 1))
    save("last.safetensors", {"x": x, "features": kept["features"], "output": y})


class Side(nn.Module):
    """Branches side by side, with what follows each of them."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([b(x) for b in self.branches], 1)


class Dense(nn.Module):
    """Layers that each see all that came before, joined anew for each."""

    def __init__(self, c, grow, n):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(c + i * grow), nn.ReLU(), nn.Conv2d(c + i * grow, grow, 3, 1, 1, bias=False))
            for i in range(n))

    def forward(self, x):
        seen = [x]
        for layer in self.layers:
            seen.append(layer(torch.cat(seen, 1)))
        return torch.cat(seen, 1)


class Shuffle(nn.Module):
    """ShuffleNet v2's unit: one half of the channels passes, both are interleaved."""

    def __init__(self, c, down):
        super().__init__()
        half = c if down else c // 2
        self.a = nn.Sequential(
            nn.Conv2d(c, c, 3, 2, 1, groups=c, bias=False), nn.BatchNorm2d(c), conv(c, c, 1)) if down else None
        self.b = nn.Sequential(conv(half, half, 1), nn.Conv2d(half, half, 3, 2 if down else 1, 1, groups=half),
                               nn.BatchNorm2d(half), conv(half, half, 1))

    def forward(self, x):
        p, q = (self.a(x), x) if self.a else x.chunk(2, 1)
        y = torch.cat((p, self.b(q)), 1)
        n, c, h, w = y.shape
        return y.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


def write_branches(head):
    write("inception", Net(nn.Sequential(
        conv(3, 6, s=2),
        Side(conv(6, 3, 1), nn.Sequential(conv(6, 4, 1), Side(nn.Conv2d(4, 3, (1, 3), 1, (0, 1)),
                                                              nn.Conv2d(4, 3, (3, 1), 1, (1, 0), bias=False))),
             nn.Sequential(conv(6, 4, 1), nn.Conv2d(4, 4, (1, 7), 1, (0, 3)), nn.Conv2d(4, 5, (7, 1), 1, (3, 0))),
             nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False), conv(6, 2, 1))),
        nn.ReLU(),
        Side(conv(16, 5, 3, 2), nn.Sequential(conv(16, 4, 1), conv(4, 6, 3, 2)), nn.MaxPool2d(3, 2, 1)),
        nn.AvgPool2d(3, 2, ceil_mode=True, count_include_pad=False)), 27), size=15, head=head)
    write("densenet", Net(nn.Sequential(
        conv(3, 6, s=2), Dense(6, 4, 4), nn.BatchNorm2d(22), nn.ReLU(), nn.Conv2d(22, 8, 1, bias=False),
        nn.AvgPool2d(2), Dense(8, 4, 3), nn.BatchNorm2d(20), nn.ReLU()), 20), head=head)
    write("shufflenet", Net(nn.Sequential(
        conv(3, 6, s=2), Shuffle(6, True), Shuffle(12, False), Shuffle(12, False), conv(12, 9, 1)), 9,
        pool=Fn(lambda x: x.mean([2, 3]))), head=head)


def main():
    write_last()
    head = lambda m: m.head
    resnet = lambda: Net(nn.Sequential(
        nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        Residual(8, 8, 1), Residual(8, 12, 2)), 12)
    write("residual", resnet(), size=32, head=head)
    write("residual_batchnorm", resnet(), size=32, head=head, training=torch.onnx.TrainingMode.PRESERVE,
          do_constant_folding=False)
    write("gates_13", Net(nn.Sequential(
        conv(3, 8, act=nn.Hardswish, s=2), Squeeze(8, 4, F.relu, F.hardsigmoid), conv(8, 8, 5, groups=8, act=nn.SiLU),
        Squeeze(8, 4, F.silu, torch.sigmoid), conv(8, 10, act=nn.ReLU6)), 10), head=head, opset=13)
    write("gates_14", Net(nn.Sequential(
        conv(3, 8, act=nn.Hardswish), Squeeze(8, 4, F.relu, F.hardsigmoid), nn.AvgPool2d(2)), 8), head=head, opset=14)
    write("pools", Net(nn.Sequential(
        nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(3, 6, 3, 2), nn.ReLU6(), nn.ZeroPad2d(1), nn.MaxPool2d(3, 2),
        nn.Conv2d(6, 6, 3, 1, 1, groups=2), nn.MaxPool2d(2, 2, ceil_mode=True)), 6,
        pool=Fn(lambda x: x.mean(3).mean(2))), size=17, head=head)
    write("next", Net(nn.Sequential(
        nn.Conv2d(3, 8, 4, 4), ChannelNorm(8), Next(8), ChannelNorm(8), nn.Conv2d(8, 10, 2, 2), Next(10)), 10,
        pool=nn.Sequential(nn.AdaptiveAvgPool2d(1), ChannelNorm(10))), size=16, head=head)
    write("dense", nn.Sequential(
        conv(3, 4), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4 * 16, 12), nn.ReLU(), nn.Dropout(), nn.Linear(12, 9),
        nn.ReLU(), nn.Linear(9, 5)), size=8, head=lambda m: m[-1])
    write("inside", Net(nn.Sequential(Fn(lambda x: (x * 255 - 127.5) / 64), conv(3, 6)), 6), size=8, head=head)
    write("vit_fused", Transformer(lambda d: Fused(d, 3), nn.GELU()), head=head)
    write("vit_separate", Transformer(lambda d: Separate(d, 2), Fn(gelu_new), token=False, mean=True), head=head)
    write("vit_scaled", Transformer(lambda d: Separate(d, 2, False, 2.0), Fn(gelu_pieces), mean=True), head=head)
    write("vit_registers", Transformer(lambda d: Fused(d, 2), nn.GELU(), registers=2, scale=True), head=head, opset=17)
    write("vit_torch", Transformer(lambda d: Torch(d, 3), nn.ReLU()), head=head)
    write("clip", Transformer(lambda d: Batched(d, 3), Fn(lambda x: x * torch.sigmoid(1.702 * x)), pre=True, project=7,
                              classes=0))
    write("vit_torchvision", torchvision.models.VisionTransformer(16, 4, 1, 2, 12, 24, num_classes=5),
          head=lambda m: m.heads)
    write("fixed", Transformer(lambda d: Fused(d, 3), nn.GELU()), head=head, dynamic=False)
    write_branches(head)
    write("resize", nn.Sequential(nn.Conv2d(3, 4, 3), Fn(lambda x: F.interpolate(x, scale_factor=2)), nn.Flatten()), size=8)


main()
