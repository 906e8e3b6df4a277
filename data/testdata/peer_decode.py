#!/usr/bin/env python3
"""PIL and torchvision doing what BenchmarkFromJPEG and BenchmarkFromCache do, on one thread.

Needs Debian's python3-torchvision. Usage: /usr/bin/python3 peer_decode.py CUB100.zip
Prints one JSON object a line: {"case": ..., "images_per_s": ...}."""
import io
import json
import sys
import time
import zipfile

import torch
import torchvision.transforms as T
from PIL import Image

torch.set_num_threads(1)
torch.manual_seed(0)
archive = zipfile.ZipFile(sys.argv[1])
names = [n for n in archive.namelist() if n.endswith(".jpg")]
content = [archive.read(names[i * len(names) // 1000]) for i in range(1000)]


def timed(case, work):
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for c in content:
            work(Image.open(io.BytesIO(c)).convert("RGB"))
        best = min(best, time.perf_counter() - start)
    print(json.dumps({"case": case, "images_per_s": round(len(content) / best)}), flush=True)


tail = [T.ToTensor(), T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
jitter = T.ColorJitter(0.4, 0.4, 0.4)
timed("decode", lambda im: im)
timed("resize-128", T.Compose([T.Resize((128, 128))] + tail))
timed("resize-64", T.Compose([T.Resize((64, 64))] + tail))
timed("crop-flip-112", T.Compose([T.RandomResizedCrop(112), T.RandomHorizontalFlip()] + tail))
timed("crop-flip-224", T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip()] + tail))
timed("crop-flip-jitter-224", T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), jitter] + tail))
