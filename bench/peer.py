#!/usr/bin/env python3
"""Times in PyTorch and faiss what `kindred bench` times in Go.

Usage: /usr/bin/python3 bench/peer.py [case ...]
Prints one JSON object a line: {"case": ..., "median_ms": ..., "per_s": ...}.
Needs Debian's python3-torch python3-torchvision python3-faiss. Float32, THREADS threads (default: all cores).
"""
import json
import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

THREADS = int(os.environ.get("THREADS", os.cpu_count()))
torch.set_num_threads(THREADS)
torch.manual_seed(0)


def report(case, work, items=1, runs=7, warm=2):
    for _ in range(warm):
        work()
    ms = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        ms.append((time.perf_counter() - start) * 1e3)
    median = statistics.median(ms)
    print(json.dumps({"case": case, "median_ms": round(median, 4), "per_s": round(items / median * 1e3, 2)}), flush=True)


def gemm(case, m, k, n):
    a, b = torch.randn(m, k), torch.randn(k, n)
    report(case, lambda: a @ b, runs=9, warm=3)


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


def training_step(case, net, x, y):
    adam = torch.optim.Adam(net.parameters(), 1e-3)
    n = len(y)
    rows = torch.arange(n)
    same = y[:, None] == y[None, :]
    self_pair = torch.eye(n, dtype=torch.bool)

    def step():
        e = F.normalize(net(x))
        d2 = 2 - 2 * e @ e.T
        with torch.no_grad():
            p = d2.masked_fill(~same | self_pair, 9.0).argmin(1)
            q = torch.rand(n, n).masked_fill(same, -1.0).argmax(1)
        loss = F.relu(d2[rows, p] - d2[rows, q] + 0.2).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()

    report(case, step, items=n)


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


def loss_step(case, loss, n, dim, classes):
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

    report(case, step)


# --- search and clustering ---

def vectors(n, dim, unit):
    import faiss
    import numpy as np
    faiss.omp_set_num_threads(THREADS)
    x = np.random.default_rng(0).standard_normal((n, dim), dtype=np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True) if unit else x


def search(case, n, dim, queries, k):
    import faiss
    x = vectors(n, dim, unit=True)
    index = faiss.IndexFlatIP(dim)
    index.add(x)
    report(case, lambda: index.search(x[:queries], k), items=queries, runs=3, warm=1)


def kmeans(case, n, dim, k, iterations):
    import faiss
    x = vectors(n, dim, unit=False)
    report(case, lambda: faiss.Kmeans(dim, k, niter=iterations, seed=1, max_points_per_centroid=10 ** 9).train(x), runs=3, warm=0)


def resnet(case, depth, training):
    import torchvision
    net = getattr(torchvision.models, f"resnet{depth}")()
    x = torch.rand(16, 3, 224, 224)
    if training:
        net.train()
        report(case, lambda: net(x).sum().backward(), items=16, runs=3, warm=1)
        return
    net.eval()
    with torch.no_grad():
        report(case, lambda: net(x), items=16, runs=5, warm=1)


CASES = {
    "mnist-step-b128": lambda c: training_step(c, mnist_net(), torch.rand(128, 1, 28, 28), torch.arange(128) % 2),
    "conv4-40px-step-b112": lambda c: training_step(c, conv4_net(), torch.rand(112, 1, 40, 40), torch.arange(112) % 4),
    "search-60502x512-q6000": lambda c: search(c, 60502, 512, 6000, 9),
    "kmeans-60502x512-k1000-it5": lambda c: kmeans(c, 60502, 512, 1000, 5),
}
for mkn in ((2048, 2048, 2048), (70000, 288, 64), (44800, 576, 64)):
    CASES["gemm-%dx%dx%d" % mkn] = lambda c, s=mkn: gemm(c, *s)
for name, fn in (("triplet", triplet_loss), ("margin", margin_loss), ("ms", ms_loss)):
    for n, dim, classes in ((128, 128, 16), (512, 128, 64), (2048, 512, 256)):
        CASES[f"{name}-n{n}-d{dim}"] = lambda c, a=(fn, n, dim, classes): loss_step(c, *a)
for depth in (18, 50):
    for mode in ("infer", "train"):
        CASES[f"resnet{depth}-224-{mode}-b16"] = lambda c, d=depth, t=mode == "train": resnet(c, d, t)

if __name__ == "__main__":
    for wanted in sys.argv[1:] or CASES:
        CASES[wanted](wanted)
