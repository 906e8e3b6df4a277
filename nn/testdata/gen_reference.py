#!/usr/bin/env python3
"""Writes the reference files that reference_test.go compares the engine with:
activations, gradients, running statistics and evaluation of narrow residual
networks and MobileNets, computed by PyTorch in float64.

Needs Debian's python3-torch and python3-torchvision:
    /usr/bin/python3 nn/testdata/gen_reference.py nn/testdata [network ...]
Weights and inputs are not stored: both sides derive them from names, see values().
"""
import json, struct, sys
import numpy as np, torch, torchvision

LIMIT = 512  # values stored of each tensor, evenly spread; fewer of the later networks


def values(name, n):
    """n values in [-1, 1), a function of name and position: SplitMix64 over FNV-1a."""
    h = 0xCBF29CE484222325
    for b in name.encode():
        h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    with np.errstate(over="ignore"):
        z = (np.arange(1, n + 1, dtype=np.uint64) + np.uint64(h)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        z = z ^ z >> np.uint64(31)
    return ((z >> np.uint64(40)).astype(np.float64) / (1 << 23) - 1).astype(np.float32).astype(np.float64)


def start(name, shape):
    """The start value of a parameter, as the Go test makes it too."""
    u = values(name, int(np.prod(shape)))
    if name.endswith("running_var"):
        u = 1 + u / 2
    elif name.endswith(("gamma", "layer_scale")):
        u = 0.5 + u / 4
    elif name.endswith(("_token", "pos_embed")):
        u = u / 2
    elif name.endswith("bn3.weight"):
        u = 0.25 + u / 8  # a deep network amplifies rounding (PyTorch's float32 too) unless branches are weak
    elif len(shape) == 1 and name.endswith("weight"):
        u = 1 + u / 4
    elif len(shape) == 1:
        u = u / 4
    else:
        u = u * np.float32((3 / np.prod(shape[1:])) ** 0.5 * 1.5)
    return torch.tensor(u.astype(np.float32).astype(np.float64)).reshape(shape)


class NarrowResNet(torchvision.models.ResNet):
    """torchvision's ResNet with all widths divided by 8."""
    @property
    def inplanes(self):
        return self._inplanes

    @inplanes.setter
    def inplanes(self, n):
        self._inplanes = n if hasattr(self, "_inplanes") else n // 8

    def _make_layer(self, block, planes, *a, **k):
        return super()._make_layer(block, planes // 8, *a, **k)


def resnet(block, layers, dim):
    m = NarrowResNet(block, layers)
    m.fc = torch.nn.Linear(64 * block.expansion, dim)
    return m


def pick(t, limit):
    flat = t.detach().double().reshape(-1).numpy()
    step = max(1, len(flat) // limit)
    return flat[::step][:limit].astype(np.float32)


def write(path, tensors):
    header, data = {}, b""
    for name, v in tensors.items():
        raw = v.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(v.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    h = json.dumps(header).encode()
    h += b" " * (-len(h) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(h)) + h + data)


def make(path, model, n, side, watch, limit=LIMIT):
    model = model.double().train()
    state = model.state_dict()
    for name, t in state.items():
        if t.dtype.is_floating_point:
            t.copy_(start(name, tuple(t.shape)))
    seen = {}
    for name, label in watch.items():
        module = model.get_submodule(name)
        module.register_forward_hook(lambda m, i, o, label=label: seen.__setitem__(label, o.detach().clone()))
    # Channels last, as the Go side has it.
    x = torch.tensor(values("input", n * side * side * 3)).reshape(n, side, side, 3).permute(0, 3, 1, 2)
    out = model(x)
    w = torch.tensor(values("objective", out.numel())).reshape(out.shape)
    (out * w).sum().backward()
    got = {"out": pick(out, limit)}
    for label, t in seen.items():
        got["act:" + label] = pick(t.permute(0, 2, 3, 1) if t.dim() == 4 else t, limit)
    for name, p in model.named_parameters():
        got["grad:" + name] = pick(p.grad, limit)
        got["norm:" + name] = np.array([p.grad.norm().item()])
    for name, t in model.state_dict().items():
        if "running" in name:
            got["stat:" + name] = pick(t, limit)
    model.eval()
    got["eval"] = pick(model(x), limit)
    write(path, got)


class MobileNetV1(torch.nn.Module):
    """MobileNet v1 as TensorFlow trained it, with timm's names."""
    def __init__(self, multiple, dim):
        super().__init__()
        nn, width = torch.nn, lambda n: int(n * multiple)
        channels = width(32)
        self.conv_stem, self.bn1 = nn.Conv2d(3, channels, 3, 2, bias=False), nn.BatchNorm2d(channels, 1e-3)
        stages = []
        for out, blocks, stride in ((64, 1, 1), (128, 2, 2), (256, 2, 2), (512, 6, 2), (1024, 2, 2)):
            stage = []
            for b in range(blocks):
                block = nn.Module()
                block.conv_dw = nn.Conv2d(channels, channels, 3, stride if b == 0 else 1, groups=channels, bias=False)
                block.bn1 = nn.BatchNorm2d(channels, 1e-3)
                block.conv_pw = nn.Conv2d(channels, width(out), 1, bias=False)
                block.bn2 = nn.BatchNorm2d(width(out), 1e-3)
                channels = width(out)
                stage.append(block)
            stages.append(nn.Sequential(*stage))
        self.blocks, self.classifier = nn.Sequential(*stages), nn.Linear(channels, dim)

    def forward(self, x):
        pad, relu6 = torch.nn.functional.pad, torch.nn.functional.relu6
        same = lambda c, x: c(pad(x, (0, 1, 0, 1) if c.stride[0] == 2 else (1, 1, 1, 1)))
        x = relu6(self.bn1(same(self.conv_stem, x)))
        for stage in self.blocks:
            for b in stage:
                x = relu6(b.bn2(b.conv_pw(relu6(b.bn1(same(b.conv_dw, x))))))
        return self.classifier(x.mean((2, 3)))


class Transformer(torch.nn.Module):
    """A vision transformer with timm's names: DINOv2's or CLIP's."""
    def __init__(self, width, depth, heads, patch, side, registers, clip, dim):
        super().__init__()
        nn, eps = torch.nn, 1e-5 if clip else 1e-6
        self.heads, self.clip = heads, clip
        self.patch_embed = nn.Module()
        self.patch_embed.proj = nn.Conv2d(3, width, patch, patch, bias=not clip)
        parameter = lambda n: nn.Parameter(torch.zeros(1, n, width))
        self.cls_token, self.pos_embed = parameter(1), parameter((side // patch) ** 2 + 1)
        if registers:
            self.reg_token = parameter(registers)
        if clip:
            self.norm_pre = nn.LayerNorm(width, eps)
        blocks = []
        for _ in range(depth):
            b = nn.Module()
            b.norm1, b.norm2 = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
            b.attn, b.mlp = nn.Module(), nn.Module()
            b.attn.qkv, b.attn.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            b.mlp.fc1, b.mlp.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            if not clip:
                b.ls1, b.ls2 = nn.Module(), nn.Module()
                b.ls1.gamma, b.ls2.gamma = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
            blocks.append(b)
        self.blocks = nn.Sequential(*blocks)
        self.norm, self.head = nn.LayerNorm(width, eps), nn.Linear(width, dim, bias=not clip)

    def forward(self, x):
        x = self.patch_embed.proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
        if hasattr(self, "reg_token"):
            x = torch.cat([x[:, :1], self.reg_token.expand(len(x), -1, -1), x[:, 1:]], 1)
        if self.clip:
            x = self.norm_pre(x)
        gelu = (lambda x: x * torch.sigmoid(1.702 * x)) if self.clip else torch.nn.functional.gelu
        for b in self.blocks:
            n, t, d = x.shape
            q, k, v = b.attn.qkv(b.norm1(x)).view(n, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
            a = (q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5).softmax(-1) @ v
            y = b.attn.proj(a.transpose(1, 2).reshape(n, t, d))
            x = x + (y if self.clip else y * b.ls1.gamma)
            y = b.mlp.fc2(gelu(b.mlp.fc1(b.norm2(x))))
            x = x + (y if self.clip else y * b.ls2.gamma)
        return self.head(self.norm(x)[:, 0])


class BNInception(torch.nn.Module):
    """BN-Inception, its modules by the filters of their branches, narrowed."""

    MODULES = (("3a", 64, 64, 64, 64, 96, 32), ("3b", 64, 64, 96, 64, 96, 64), ("3c", 0, 128, 160, 64, 96, 0),
               ("4a", 224, 64, 96, 96, 128, 128), ("4b", 192, 96, 128, 96, 128, 128),
               ("4c", 160, 128, 160, 128, 160, 128), ("4d", 96, 128, 192, 160, 192, 128),
               ("4e", 0, 128, 192, 192, 256, 0), ("5a", 352, 192, 320, 160, 224, 128),
               ("5b", 352, 192, 320, 192, 224, 128))

    def __init__(self, divide, dim):
        super().__init__()
        self.divide, c = divide, 3
        c = self.conv("conv1_7x7_s2", c, 64, 7)
        c = self.conv("conv2_3x3", self.conv("conv2_3x3_reduce", c, 64, 1), 192, 3)
        for name, one, reduce, three, double, twin, pool in self.MODULES:
            at, out = "inception_%s_" % name, 0
            if one:
                out += self.conv(at + "1x1", c, one, 1)
            out += self.conv(at + "3x3", self.conv(at + "3x3_reduce", c, reduce, 1), three, 3)
            wide = self.conv(at + "double_3x3_reduce", c, double, 1)
            out += self.conv(at + "double_3x3_2", self.conv(at + "double_3x3_1", wide, twin, 3), twin, 3)
            c = out + (self.conv(at + "pool_proj", c, pool, 1) if pool else c)
        self.last_linear = torch.nn.Linear(c, dim)

    def conv(self, name, c, out, kernel):
        out //= self.divide
        setattr(self, name, torch.nn.Conv2d(c, out, kernel, padding=kernel // 2))
        setattr(self, name + "_bn", torch.nn.BatchNorm2d(out))
        return out

    def run(self, name, x, stride=1):
        conv = getattr(self, name)
        conv.stride = (stride, stride)
        return torch.relu(getattr(self, name + "_bn")(conv(x)))

    def forward(self, x):
        F = torch.nn.functional
        halve = lambda v: F.max_pool2d(v, 3, 2, ceil_mode=True)
        x = halve(self.run("conv1_7x7_s2", x, 2))
        x = halve(self.run("conv2_3x3", self.run("conv2_3x3_reduce", x)))
        for name, one, _, _, _, _, pool in self.MODULES:
            at, step = "inception_%s_" % name, 1 if pool else 2
            parts = [self.run(at + "1x1", x)] if one else []
            parts.append(self.run(at + "3x3", self.run(at + "3x3_reduce", x), step))
            y = self.run(at + "double_3x3_1", self.run(at + "double_3x3_reduce", x))
            parts.append(self.run(at + "double_3x3_2", y, step))
            if not pool:
                parts.append(halve(x))
            else:
                p = F.max_pool2d(x, 3, 1, 1) if name == "5b" else F.avg_pool2d(x, 3, 1, 1)
                parts.append(self.run(at + "pool_proj", p))
            x = torch.cat(parts, 1)
        return self.last_linear(x.mean((2, 3)))


def references():
    """Functions that write the network they are named after to a path."""
    blocks = lambda ends: {f"layer{i}.{j}": f"layer{i}.{j}.{e}" for i in (1, 2, 3, 4) for j, e in enumerate(ends)}
    models = torchvision.models

    def resnet18(path):
        basic = {**blocks(["bn2"] * 2), "conv1": "conv1", "maxpool": "maxpool"}
        make(path, resnet(models.resnet.BasicBlock, [2, 2, 2, 2], 6), 3, 96, basic)

    def resnet50(path):
        deep = {f"layer{i}.{j}": f"layer{i}.{j}.bn3" for i, n in zip((1, 2, 3, 4), (3, 4, 6, 3)) for j in range(n)}
        make(path, resnet(models.resnet.Bottleneck, [3, 4, 6, 3], 5), 3, 96, deep)

    def mobilenet_v2(path):
        mobile = models.MobileNetV2(num_classes=7, width_mult=0.1)
        mobile.classifier[0] = torch.nn.Identity()
        watch = {"features.0": "features.0.1", "features.18": "features.18.1", "features.1": "features.1.conv.2"}
        watch.update({f"features.{i}": f"features.{i}.conv.3" for i in range(2, 18)})
        make(path, mobile, 3, 96, watch)

    def mobilenet_v1(path):
        make(path, MobileNetV1(0.25, 6), 3, 64, {"conv_stem": "conv_stem", "blocks.2.1.conv_dw": "blocks.2.1.conv_dw"}, 64)

    def mobilenet_v3_small(path):
        rows, last = models.mobilenetv3._mobilenet_v3_conf("mobilenet_v3_small", width_mult=0.25)
        make(path, models.MobileNetV3(rows, last, 5, dropout=0), 3, 64, {"features.0.0": "features.0.0"}, 64)

    def mobilenet_v3_large(path):
        rows, last = models.mobilenetv3._mobilenet_v3_conf("mobilenet_v3_large", width_mult=0.25)
        make(path, models.MobileNetV3(rows, last, 5, dropout=0), 3, 96, {"features.0.0": "features.0.0"}, 64)

    def efficientnet_b0(path):
        rows, last = models.efficientnet._efficientnet_conf("efficientnet_b0", width_mult=0.25, depth_mult=1.0)
        make(path, models.EfficientNet(rows, 0, 0, 6, last_channel=last), 3, 64, {"features.0": "features.0.1"}, 64)

    def convnext_tiny(path):
        config = models.convnext.CNBlockConfig
        stages = [config(12, 24, 3), config(24, 48, 3), config(48, 96, 9), config(96, None, 3)]
        make(path, models.ConvNeXt(stages, 0, num_classes=6), 3, 64, {"features.1.2": "features.1.2.block.5"}, 64)

    def bn_inception(path):
        make(path, BNInception(8, 6), 3, 96, {"inception_4c_1x1": "inception_4c_1x1"}, 24)

    def vit_s14(path):
        make(path, Transformer(24, 3, 4, 14, 56, 2, False, 5), 3, 56, {"blocks.1.attn.qkv": "blocks.1.attn.qkv"}, 128)

    def clip_vit_b32(path):
        make(path, Transformer(24, 2, 2, 32, 96, 0, True, 7), 3, 96, {"norm_pre": "norm_pre"}, 128)

    def positions(path):
        """Tables of position embeddings made to fit another grid, as timm and DINO do it."""
        got = {}
        for side, h, w in ((4, 7, 5), (7, 4, 4), (5, 5, 9), (14, 8, 8), (3, 3, 2), (2, 9, 1), (16, 9, 18)):
            table = torch.tensor(values("positions", side * side * 2)).reshape(1, side, side, 2).permute(0, 3, 1, 2)
            resize = lambda **how: torch.nn.functional.interpolate(table, mode="bicubic", **how)[0].permute(1, 2, 0)
            factors = ((h + 0.1) / side, (w + 0.1) / side)
            for name, t in (("", resize(size=(h, w), antialias=True)), ("dino", resize(scale_factor=factors))):
                assert t.shape == (h, w, 2)
                got[f"{name}:{side}:{h}x{w}"] = t.reshape(-1).numpy().astype(np.float32)
        write(path, got)

    def tiny(path):
        """What the Example of Import reads: two linear layers, wrapped."""
        state = {"fc1.weight": [[1, 0, 0], [0, 1, 1]], "fc1.bias": [0, -1], "fc2.weight": [[2, 0], [1, 1]], "fc2.bias": [0, 3]}
        state["fc3.weight"] = [[1]]
        path = path.replace("safetensors", "pth")
        torch.save({"state_dict": {"module." + n: torch.tensor(v, dtype=torch.float32) for n, v in state.items()}}, path)

    return (tiny, positions, resnet18, resnet50, mobilenet_v2, mobilenet_v1, mobilenet_v3_small, mobilenet_v3_large, efficientnet_b0,
            convnext_tiny, bn_inception, vit_s14, clip_vit_b32)


def main(folder, *names):
    for reference in references():
        if not names or reference.__name__ in names:
            reference(f"{folder}/{reference.__name__}.safetensors")


main(*sys.argv[1:])
