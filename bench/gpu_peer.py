#!/usr/bin/env python3
"""Times in PyTorch, on the same device, what `kindred-gpu bench` times.

Usage: python3 bench/gpu_peer.py --serve case    times a turn for each line "turn VARIANT" (what kindred-gpu calls)
       python3 bench/gpu_peer.py [case ...]      prints one JSON object a case

Needs torch and torchvision; without a GPU it computes on the CPU, for trying it out. A case is named
NETWORK-SIZE-train-bBATCH or -infer-, and with -bf16 the weights stay float32 under autocast.

Variants: eager; channels_last; autocast (bfloat16 and channels last; of a case in -bf16 only those with
it); compiled, which is the fastest of these under torch.compile where this PyTorch has it. Images go up
as bytes from pinned memory, the next batch while this one computes, and are normalised on the device.
"""
import json
import re
import statistics
import sys
import time

try:
    import torch
    import torchvision
    from torch import nn
    from torch.nn import functional as F
except ImportError as e:
    sys.exit(f"{e}; install torch and torchvision")

UNKNOWN_CASE = 3  # exit status
CASE = re.compile(r"(resnet50|vit_s16|conv4|tiny)-(\d+)-(train|infer)-b(\d+)(-bf16)?$")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
PER_CLASS = 4
torch.manual_seed(0)
torch.backends.cudnn.benchmark = True
torch.backends.cuda.matmul.allow_tf32 = True  # as XLA does
torch.backends.cudnn.allow_tf32 = True


def conv4(channels, width, size, dim):
    layers, c = [], channels
    for _ in range(4):
        layers += [nn.Conv2d(c, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
        c, size = width, size // 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(width * size * size, dim))


class Unit(nn.Module):
    """A network whose embeddings have length 1."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return F.normalize(self.body(x).float())


def network(name, size):
    """The network of a case, and the channels of its images."""
    if name == "resnet50":
        return Unit(torchvision.models.resnet50(num_classes=128)), 3
    if name == "vit_s16":
        body = torchvision.models.VisionTransformer(image_size=size, patch_size=16, num_layers=12, num_heads=6,
                                                    hidden_dim=384, mlp_dim=1536, num_classes=128)
        return Unit(body), 3
    if name == "conv4":
        return conv4(1, 64, size, 64), 1
    return conv4(1, 4, size, 8), 1


def multi_similarity(e, labels):
    """Wang et al. 2019 with alpha 2, beta 50, base 0.5, over all pairs."""
    s = F.normalize(e) @ F.normalize(e).t()
    same = labels[:, None] == labels[None, :]
    other = ~same
    same = same & ~torch.eye(len(e), dtype=torch.bool, device=e.device)
    pos = torch.log1p((torch.exp(-2 * (s - 0.5)) * same).sum(1)) / 2
    neg = torch.log1p((torch.exp(50 * (s - 0.5)) * other).sum(1)) / 50
    return (pos + neg).mean()


class Variant:
    """One way to take the steps of a case."""

    def __init__(self, name, size, training, batch, channels_last=False, autocast=False, compiled=False):
        net, channels = network(name, size)
        self.training, self.autocast = training, autocast
        self.format = torch.channels_last if channels_last else torch.contiguous_format
        self.net = net.to(DEVICE, memory_format=self.format).train(training)
        self.run = torch.compile(self.net) if compiled else self.net
        self.host = torch.randint(0, 256, (batch, channels, size, size), dtype=torch.uint8)
        if DEVICE.type == "cuda":
            self.host = self.host.pin_memory()
        self.labels = torch.arange(batch, device=DEVICE) // PER_CLASS
        self.mean = torch.tensor([0.485, 0.456, 0.406][:channels], device=DEVICE).view(1, -1, 1, 1)
        self.std = torch.tensor([0.229, 0.224, 0.225][:channels], device=DEVICE).view(1, -1, 1, 1)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.stream = torch.cuda.Stream() if DEVICE.type == "cuda" else None
        self.next = self.stage()

    def stage(self):
        if self.stream is None:
            return self.host.clone()
        with torch.cuda.stream(self.stream):
            return self.host.to(DEVICE, non_blocking=True)

    def embed(self, raw):
        x = ((raw.float() / 255 - self.mean) / self.std).contiguous(memory_format=self.format)
        with torch.autocast(DEVICE.type, dtype=torch.bfloat16, enabled=self.autocast):
            return self.run(x)

    def step(self):
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)
        raw, self.next = self.next, self.stage()
        if self.training:
            loss = multi_similarity(self.embed(raw).float(), self.labels)
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            self.opt.step()
        else:
            with torch.no_grad():
                self.embed(raw).float().cpu()
        if DEVICE.type == "cuda":
            torch.cuda.synchronize()


def variants(case):
    """The variants of a case by name, made when they are asked for; None if the case is unknown."""
    m = CASE.match(case)
    if not m:
        return None
    name, size, training, batch = m[1], int(m[2]), m[3] == "train", int(m[4])

    def way(**kind):
        return lambda: Variant(name, size, training, batch, **kind)
    half = {"channels_last": True, "autocast": True}
    ways = {"autocast": way(**half)}
    if not m[5]:
        ways = {"eager": way(), "channels_last": way(channels_last=True), **ways}
    if hasattr(torch, "compile"):
        ways["compiled"] = way(compiled=True, **(half if m[5] else {"channels_last": True}))
    else:
        print(f"PyTorch {torch.__version__} has no torch.compile: compiled is left out", file=sys.stderr)
    return ways


def once(work):
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def turn(v):
    """The median of repetitions until 100 ms have passed, after one that is not counted."""
    once(v.step)
    ms = [once(v.step)]
    while sum(ms) < 100:
        ms.append(once(v.step))
    return statistics.median(ms)


def serve(case):
    ways = variants(case)
    if ways is None:
        sys.exit(UNKNOWN_CASE)
    made = {}
    print(json.dumps({"variants": list(ways)}), flush=True)
    for line in sys.stdin:
        name = line.split()[1]
        if name not in made:
            made[name] = ways[name]()
            for _ in range(3):  # which compile and choose algorithms
                made[name].step()
        print(json.dumps({"ms": turn(made[name])}), flush=True)


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--serve":
        return serve(sys.argv[2])
    for case in sys.argv[1:]:
        ways = variants(case)
        if ways is None:
            sys.exit(f"no case is called {case}")
        for name, make in ways.items():
            v = make()
            for _ in range(3):
                v.step()
            print(json.dumps({"case": case, "variant": name, "device": str(DEVICE), "ms": turn(v)}), flush=True)


if __name__ == "__main__":
    main()
