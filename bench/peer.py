#!/usr/bin/env python3
"""Times in PyTorch and faiss what `kindred bench` times in Go, each at its best.

Usage: /usr/bin/python3 bench/peer.py [case ...]     prints one JSON object a case
       /usr/bin/python3 bench/peer.py --tune         finds OpenBLAS's fastest core type, prints it and the versions
       /usr/bin/python3 bench/peer.py --serve case   times a turn for each line "turn VARIANT" (what kindred calls)

Needs Debian's python3-torch python3-torchvision python3-faiss libopenblas0-pthread; without the last
the products come from the reference BLAS, ten times slower. THREADS threads (default: all cores).

Float32, unless a case ends in -bf16: then channels last and autocast to bfloat16. A case with a
convolution has a variant -cl with channels last. An evaluation has a variant -compiled, by
torch.compile and inductor with frozen weights, where PyTorch 2 and a compiler are there. bench/trixie
runs this script by the PyTorch that bench/setup installs.
"""
import ctypes
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

NEEDED = "python3-torch python3-torchvision python3-faiss libopenblas0-pthread"
UNKNOWN_CASE = 3  # exit status
THREADS = int(os.environ.get("THREADS", os.cpu_count()))
os.environ.setdefault("OPENBLAS_NUM_THREADS", str(THREADS))
try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as e:
    sys.exit(f"{e}; install (Debian): apt-get install --no-install-recommends {NEEDED}")

torch.set_num_threads(THREADS)
torch.manual_seed(0)
# --tune finds out whether it compiles.
COMPILES = os.environ.get("PEER_COMPILES", "1" if hasattr(torch, "compile") and shutil.which("g++") else "") == "1"


def once(work):
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


class Turns:
    """Times work in turns, as kindred does: a turn is repetitions until 100 ms have passed, and
    its figure their median. One repetition before them is not counted, unless it takes so long
    that cold caches do not matter."""

    def __init__(self, work):
        self.work = work
        self.last = once(work)
        if self.last < 250:
            self.last = once(work)

    def turn(self):
        if self.last < 250:
            once(self.work)
        ms = [once(self.work)]
        while sum(ms) < 100:
            ms.append(once(self.work))
        self.last = statistics.median(ms)
        return self.last


def faster(a, b):
    """The faster of two ways to do the same."""
    a(), b()
    return a if once(a) + once(a) < once(b) + once(b) else b


def gemm(m, k, n):
    a, b, c = torch.randn(m, k), torch.randn(k, n), torch.empty(m, n)
    return lambda: torch.mm(a, b, out=c)


# --- training steps: forward, easy positive + random negative, triplet loss, backward, Adam ---

def mnist_net():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.BatchNorm2d(64), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 12 * 12, 128), nn.Linear(128, 2))


def conv4_net(size=40, width=64, dim=128):
    layers, channels = [], 1
    for _ in range(4):
        layers += [nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
        channels = width
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(width * (size // 16) ** 2, dim))


def channels_last(net, x):
    return net.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)


def training_step(net, x, y, last=False):
    if last:
        net, x = channels_last(net, x)
    adam = torch.optim.Adam(net.parameters(), 1e-3)
    n = len(y)
    rows = torch.arange(n)
    same = y[:, None] == y[None, :]
    self_pair = torch.eye(n, dtype=torch.bool)

    def step(none):
        e = F.normalize(net(x))
        d2 = 2 - 2 * e @ e.T
        with torch.no_grad():
            p = d2.masked_fill(~same | self_pair, 9.0).argmin(1)
            q = torch.rand(n, n).masked_fill(same, -1.0).argmax(1)
        loss = F.relu(d2[rows, p] - d2[rows, q] + 0.2).mean()
        adam.zero_grad(set_to_none=none)
        loss.backward()
        adam.step()

    return faster(lambda: step(True), lambda: step(False))


# --- losses: similarity matrix, mining, loss, backward ---

def triplet_loss(d2, s, pos, neg, rows, dim):
    with torch.no_grad():
        p = d2.masked_fill(~pos, 9.0).argmin(1)
        q = d2.masked_fill(~neg | (d2 <= d2[rows, p][:, None]), 9.0).argmin(1)
    return F.relu(d2[rows, p] - d2[rows, q] + 0.2).mean()


def margin_loss(d2, s, pos, neg, rows, dim):
    d = d2.clamp(min=1e-8).sqrt()
    with torch.no_grad():
        p = d.masked_fill(~pos, 9.0).argmin(1)
        near = d.clamp(min=0.5)
        log_w = (2 - dim) * near.log() - (dim - 3) / 2 * (1 - near * near / 4).clamp(min=1e-6).log()
        log_w = log_w.masked_fill(~neg | (d > 1.4), -1e9)
        q = torch.multinomial((log_w - log_w.max(1, keepdim=True)[0]).exp() + 1e-20, 1)[:, 0]
    over, under = F.relu(d[rows, p] - 1.0), F.relu(1.4 - d[rows, q])
    return (over.sum() + under.sum()) / ((over > 0).sum() + (under > 0).sum()).clamp(min=1)


def ms_loss(d2, s, pos, neg, rows, dim):
    with torch.no_grad():
        keep_n = neg & (s > s.masked_fill(~pos, 9.0).min(1, keepdim=True)[0] - 0.1)
        keep_p = pos & (s < s.masked_fill(~neg, -9.0).max(1, keepdim=True)[0] + 0.1)
    pulled = torch.log1p((torch.exp(-2 * (s - 0.5)) * keep_p).sum(1)) / 2
    pushed = torch.log1p((torch.exp(50 * (s - 0.5)) * keep_n).sum(1)) / 50
    return (pulled + pushed).mean()


def loss_step(loss, n, dim, classes):
    x = torch.randn(n, dim, requires_grad=True)
    y = torch.arange(n) % classes
    rows = torch.arange(n)
    same = y[:, None] == y[None, :]
    pos, neg = same & ~torch.eye(n, dtype=torch.bool), ~same

    def step():
        x.grad = None
        e = F.normalize(x)
        s = e @ e.T
        loss(2 - 2 * s, s, pos, neg, rows, dim).backward()

    return step


# --- search and clustering ---

def vectors(n, dim, unit):
    import faiss
    import numpy as np
    faiss.omp_set_num_threads(THREADS)
    x = np.random.default_rng(0).standard_normal((n, dim), dtype=np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True) if unit else x


def search(n, dim, queries, k):
    import faiss
    x = vectors(n, dim, unit=True)
    index = faiss.IndexFlatIP(dim)
    index.add(x)
    return lambda: index.search(x[:queries], k)


def kmeans(n, dim, k, iterations):
    import faiss
    x = vectors(n, dim, unit=False)
    return lambda: faiss.Kmeans(dim, k, niter=iterations, seed=1, max_points_per_centroid=10 ** 9).train(x)


def network(make, n, size, training, last=False, bf16=False, compiled=False):
    net, x = make(), torch.rand(n, 3, size, size)
    if last:
        net, x = channels_last(net, x)
    net.train(training)
    if compiled:
        from torch._inductor import config
        config.freezing = True
        net = torch.compile(net)

    def run(none):
        with torch.set_grad_enabled(training), torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            y = net(x)
        if training:
            net.zero_grad(set_to_none=none)
            y.float().sum().backward()

    return faster(lambda: run(True), lambda: run(False)) if training else lambda: run(True)


def resnet(depth):
    import torchvision
    return getattr(torchvision.models, f"resnet{depth}")()


def mobilenet_v1(width=0.75, dim=128):
    """As TensorFlow trained it: zeros at the bottom and on the right where the stride is 2."""
    layers, channels = [], int(32 * width)

    def block(out, kernel, stride, groups=1):
        pad = nn.ZeroPad2d((0, 1, 0, 1)) if stride == 2 else None
        conv = nn.Conv2d(channels if layers else 3, out, kernel, stride, 0 if pad else kernel // 2, groups=groups, bias=False)
        layers.extend([pad] if pad else [])
        layers.extend((conv, nn.BatchNorm2d(out, 1e-3), nn.ReLU6(inplace=True)))

    block(channels, 3, 2)
    for out, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *5 * ((512, 1),), (1024, 2), (1024, 1)):
        block(channels, 3, stride, channels)
        block(int(out * width), 1, 1)
        channels = int(out * width)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, dim))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5).softmax(-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(n, t, d))


class Branch(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(width, 1e-6), inner

    def forward(self, x):
        return x + self.inner(self.norm(x))


class ViT(nn.Module):
    """ViT-S/16 without a head: the class token's features."""
    def __init__(self, width=384, depth=12, heads=6, patch=16, size=224):
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        mlp = lambda: nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.blocks = nn.Sequential(*(Branch(width, b) for _ in range(depth) for b in (Attention(width, heads), mlp())))
        self.norm = nn.LayerNorm(width, 1e-6)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(len(x), -1, -1), x), 1) + self.positions
        return self.norm(self.blocks(x)[:, 0])


def mnist_step(last=False):
    return training_step(mnist_net(), torch.rand(128, 1, 28, 28), torch.arange(128) % 2, last)


# CASES holds what prepares each case and returns the work.
CASES = {
    "mnist-step-b128-unfolded": mnist_step,
    "mnist-step-b128-unfolded-cl": lambda: mnist_step(True),
    "search-60502x512-q6000": lambda: search(60502, 512, 6000, 9),
    # What Recall@1000 asks of faiss: each row's nearest 1,000, and the row itself.
    "rank-60502x512": lambda: search(60502, 512, 60502, 1001),
    "kmeans-60502x512-k1000-it5": lambda: kmeans(60502, 512, 1000, 5),
}
for tail, last in (("", False), ("-cl", True)):
    CASES["mnist-step-b128" + tail] = lambda l=last: mnist_step(l)
    CASES["conv4-40px-step-b112" + tail] = lambda l=last: training_step(conv4_net(), torch.rand(112, 1, 40, 40), torch.arange(112) % 4, l)
for mkn in ((2048, 2048, 2048), (4096, 4096, 4096), (70000, 288, 64), (44800, 576, 64)):
    CASES["gemm-%dx%dx%d" % mkn] = lambda s=mkn: gemm(*s)
for name, fn in (("triplet", triplet_loss), ("margin", margin_loss), ("ms", ms_loss)):
    for n, dim, classes in ((128, 128, 16), (512, 128, 64), (2048, 512, 256)):
        CASES[f"{name}-n{n}-d{dim}"] = lambda a=(fn, n, dim, classes): loss_step(*a)
for name, make, n, size in (("resnet18", lambda: resnet(18), 16, 224), ("resnet50", lambda: resnet(50), 16, 224),
                            ("mobilenet_v1_075", mobilenet_v1, 32, 128), ("mobilenet_v1_075", mobilenet_v1, 32, 224),
                            ("vit_s16", ViT, 16, 224)):
    for mode in ("infer", "train"):
        ways = {"": {}, "-cl": {"last": True}, "-bf16": {"last": True, "bf16": True}}
        if mode == "infer" and COMPILES:
            ways.update({tail + "-compiled": {"compiled": True, **ways[tail]} for tail in ("", "-bf16")})
        for tail, kw in ways.items():
            CASES[f"{name}-{size}-{mode}-b{n}{tail}"] = lambda a=(make, n, size, mode == "train"), kw=kw: network(*a, **kw)


# --- the BLAS ---

def openblas():
    """The loaded OpenBLAS, or None."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "libopenblas" in line}
    for path in sorted(paths):
        lib = ctypes.CDLL(path)
        lib.openblas_get_config.restype = lib.openblas_get_corename.restype = ctypes.c_char_p
        return lib
    return None


CORE_TYPES = ("Haswell", "Zen", "SkylakeX", "Cooperlake", "Sapphirerapids")


def probe():
    """The rate of products, in GFLOP/s: the geometric mean of a square and a tall one, each at its best."""
    rate = 1.0
    for m, k, n, times in ((2048, 2048, 2048, 5), (70000, 288, 64, 7)):
        work = gemm(m, k, n)
        work()
        rate *= 2 * m * k * n / min(once(work) for _ in range(times)) / 1e6
    print(json.dumps({"core_type": openblas().openblas_get_corename().decode(), "gflops": round(rate ** 0.5, 1)}))


def tune():
    lib = openblas()
    if lib is None:
        sys.exit("PyTorch does its products by another BLAS than OpenBLAS; install (Debian): apt-get install libopenblas0-pthread")
    tried = []
    for wanted in (None, *CORE_TYPES):
        env = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
        if wanted:
            env["OPENBLAS_CORETYPE"] = wanted
        # A core type whose instructions this machine lacks ends its process; one that this OpenBLAS
        # does not know becomes another.
        r = subprocess.run([sys.executable, os.path.abspath(__file__), "--probe"], env=env, capture_output=True, text=True)
        if r.returncode == 0:
            got = json.loads(r.stdout)
            if wanted is None or wanted.lower() == got["core_type"].lower():
                tried.append({**got, "own_guess": wanted is None})
    best = max(tried, key=lambda t: t["gflops"])
    versions = {"PyTorch": torch.__version__.split("+")[0], "oneDNN": onednn(),
                "OpenBLAS": lib.openblas_get_config().decode().split()[1]}
    missing = {}
    for name in ("torchvision", "faiss"):
        try:
            versions[name] = __import__(name).__version__
        except ImportError as e:
            missing[name] = str(e)
    try:
        versions["torch.compile"] = compiler()
    except Exception as e:
        missing["torch.compile"] = str(e).strip().split("\n")[0]
    path = os.path.realpath(lib._name)
    threads = "OpenMP" if "openmp" in path else "pthreads" if "pthread" in path or "openblasp" in path else os.path.basename(path)
    # Threads of OpenMP that spin while those of OpenBLAS work make small products several times slower.
    waits = {"OMP_WAIT_POLICY": "passive"} if threads == "pthreads" else {}
    print(json.dumps({
        "env": {**waits, "OPENBLAS_CORETYPE": best["core_type"], "OPENBLAS_NUM_THREADS": str(THREADS),
                "PEER_COMPILES": "1" if "torch.compile" in versions else "0"},
        "versions": versions, "missing": missing, "kernels": configured("CPU capability usage: ", "\n"),
        "blas": "OpenBLAS, " + threads,
        "core_type": best["core_type"], "threads": THREADS, "core_types": tried}))


def compiler():
    """The compiler of torch.compile, after a trial."""
    if not hasattr(torch, "compile"):
        raise RuntimeError(f"PyTorch {torch.__version__} has none")
    if not shutil.which("g++"):
        raise RuntimeError("no g++")
    torch.compile(lambda x: x.sin() + 1)(torch.ones(64))
    return "by g++ " + subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()


def onednn():
    return configured("MKL-DNN v", " ") or "none"


def configured(before, after):
    """What PyTorch says of itself between two texts."""
    return torch.__config__.show().partition(before)[2].partition(after)[0]


# --- what the command line asks for ---

def check(case):
    if case not in CASES:
        print(f"no case {case}", file=sys.stderr)
        sys.exit(UNKNOWN_CASE)


def serve(case):
    check(case)
    variants = {v: None for v in (case, case + "-cl", case + "-compiled") if v in CASES}
    try:
        for v in variants:
            variants[v] = Turns(CASES[v]())
    except ModuleNotFoundError as e:
        print(e, file=sys.stderr)
        sys.exit(UNKNOWN_CASE)
    tool = "faiss" if case.startswith(("search", "rank", "kmeans")) else "PyTorch"
    print(json.dumps({"tool": tool, "variants": list(variants)}), flush=True)
    for line in sys.stdin:
        print(json.dumps({"ms": variants[line.split()[1]].turn()}), flush=True)


def main(args):
    if args[:1] == ["--probe"]:
        return probe()
    if args[:1] == ["--tune"]:
        return tune()
    if args[:1] == ["--serve"]:
        return serve(args[1])
    for case in args:
        check(case)
    for case in args or CASES:
        turns = Turns(CASES[case]())
        ms = [turns.turn() for _ in range(5)]
        print(json.dumps({"case": case, "median_ms": round(statistics.median(ms), 4), "min_ms": round(min(ms), 4), "max_ms": round(max(ms), 4)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
