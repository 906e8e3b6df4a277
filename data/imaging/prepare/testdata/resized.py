#!/usr/bin/env python3
"""Writes resized.json: what Pillow and torchvision resize the pictures of pattern to.

Needs Debian's python3-pil, python3-numpy and python3-torchvision. With a number as argument, as many random cases more
are written, for a comparison that is not kept."""
import base64
import io
import json
import os
import random
import sys

import numpy as np
from PIL import Image
from torchvision import transforms

FILTERS = ["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]  # by Pillow's numbers
cases = []


def pattern(w, h, c):
    i = np.arange(w * h * c, dtype=np.int64)
    v = ((i * i // 7 + 3 * i) & 255).astype(np.uint8)
    return Image.fromarray(v.reshape((h, w) if c == 1 else (h, w, c)))


def keep(w, h, c, name, made, **how):
    cases.append({"w": w, "h": h, "c": c, "filter": name, **how,
                  "pixels": base64.b64encode(np.asarray(made).tobytes()).decode()})


def resize(w, h, c, size, box=None):
    for k, name in enumerate(FILTERS):
        made = pattern(w, h, c).resize(size, k, box)
        keep(w, h, c, name, made, to=size, **({"box": box} if box else {}))


resize(13, 9, 3, (5, 7))
resize(13, 9, 1, (5, 7))
resize(13, 9, 3, (29, 4))
resize(5, 7, 1, (17, 11))
resize(1, 1, 3, (3, 2))
resize(1, 9, 3, (4, 3))
resize(40, 1, 1, (3, 5))
resize(64, 48, 3, (7, 5))
resize(300, 2, 1, (4, 4))
resize(2, 300, 3, (3, 3))
resize(12, 8, 3, (6, 4))  # sums of exact halves
resize(18, 12, 1, (3, 2))
resize(6, 5, 3, (12, 10))
resize(17, 13, 3, (17, 5))
resize(17, 13, 1, (4, 13))
resize(17, 13, 3, (6, 6), (1.25, 2.5, 15.75, 11))
resize(17, 13, 1, (6, 6), (3, 2, 9, 8))
resize(400, 300, 3, (4, 3))
resize(5, 4, 3, (5, 4))
for name in FILTERS:
    filter = transforms.InterpolationMode(name)
    for w, h, side, shorter in [(33, 20, 10, 13), (20, 31, 8, 8), (9, 12, 10, 11)]:
        # torchvision refuses these filters for tensors, but not for pictures.
        cover = transforms.Compose([transforms.Resize(shorter, filter), transforms.CenterCrop(side)])
        keep(w, h, 3, name, cover(pattern(w, h, 3)), to=(side, side), fit="cover", shorter=shorter)
        stretch = transforms.Compose([transforms.Resize((shorter, shorter), filter), transforms.CenterCrop(side)])
        keep(w, h, 3, name, stretch(pattern(w, h, 3)), to=(side, side), fit="stretch", shorter=shorter)
for name, subsampling in [("grey", None), ("444", 0), ("422", 1), ("420", 2)]:
    w, h = 27, 21
    x, y = np.meshgrid(np.arange(w), np.arange(h))
    waves = [128 + 120 * np.sin(x * 0.3 + c) * np.cos(y * 0.2 * c) for c in range(3)]
    photo = np.asarray(pattern(w, h, 3)) * 0.2 + np.stack(waves, -1) * 0.8
    photo = Image.fromarray(photo.clip(0, 255).astype(np.uint8))
    file = io.BytesIO()
    if subsampling is None:
        photo.convert("L").save(file, "JPEG", quality=85)
    else:
        photo.save(file, "JPEG", quality=85, subsampling=subsampling)
    photo, file = Image.open(file), base64.b64encode(file.getvalue()).decode()
    c = 1 if subsampling is None else 3
    keep(w, h, c, "nearest", photo, to=(w, h), file=file)
    keep(w, h, c, "bicubic", photo.resize((9, 7), 3), to=(9, 7), file=file)
for k in range(int(sys.argv[1]) if len(sys.argv) > 1 else 0):
    rng = random.Random(k)
    size = lambda most: int(most ** rng.random())
    w, h = size(300), size(300)
    box = None
    if rng.random() < 0.5:
        x, y = rng.random() * (w - 1), rng.random() * (h - 1)
        box = tuple(float(np.float32(v)) for v in (x, y, x + (w - x) * rng.random(), y + (h - y) * rng.random()))
        if box[2] <= box[0] or box[3] <= box[1] or box[2] > w or box[3] > h:
            box = None
    resize(w, h, rng.choice([1, 3]), (size(100), size(100)), box)

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "resized.json"), "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
