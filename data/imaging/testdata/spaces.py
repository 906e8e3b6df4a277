#!/usr/bin/env python3
"""Measures what the conversion of colours is worth, for docs/data.md: spaces.py KINDRED MODEL PHOTOS.

PHOTOS is a folder of class folders. They are saved in other colour spaces, with the profiles of colours.py, and embedded
with --colours srgb and raw. Needs Debian's python3-pil and python3-numpy."""
import base64
import csv
import io
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image, ImageCms

kindred, model, photos = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "../../../internal/format/colourspace/testdata/golden.json")) as f:
    profiles = {c["name"]: base64.b64decode(c["profile"]) for c in json.load(f)}
srgb = ImageCms.createProfile("sRGB")
classes = sorted(os.listdir(photos))[50:80]


def save(to, space):
    for c in classes:
        os.makedirs(os.path.join(to, c))
        for name in sorted(os.listdir(os.path.join(photos, c))):
            im, options = Image.open(os.path.join(photos, c, name)).convert("RGB"), {}
            if space:
                im = ImageCms.profileToProfile(im, srgb, io.BytesIO(profiles[space]))
                options["icc_profile"] = profiles[space]
            im.save(os.path.join(to, c, name), quality=95, subsampling=0, **options)


def embed(folder, *more):
    table = folder + ".csv"
    subprocess.run([kindred, "embed", "--network", model, "--size", "128", folder, "--out", table, "--force", *more],
                   check=True, capture_output=True)
    with open(table) as f:
        rows = list(csv.DictReader(f))
    x = np.array([[float(v) for k, v in r.items() if k.startswith("embedding_")] for r in rows])
    return x / np.linalg.norm(x, axis=1, keepdims=True), [r["path"].split("/")[-2] for r in rows]


def recall(queries, gallery, labels):
    s = queries @ gallery.T
    np.fill_diagonal(s, -9)
    return 100 * np.mean([labels[i] == labels[j] for i, j in enumerate(s.argmax(1))])


with tempfile.TemporaryDirectory() as d:
    save(os.path.join(d, "sRGB"), "")
    gallery, labels = embed(os.path.join(d, "sRGB"))
    print(f"sRGB: Recall@1 {recall(gallery, gallery, labels):.1f} of {len(labels)}")
    for space in ("P3", "Adobe RGB", "ProPhoto"):
        save(os.path.join(d, space), space)
        for colours in ("srgb", "raw"):
            x, _ = embed(os.path.join(d, space), "--colours", colours)
            print(f"{space}, {colours}: Recall@1 {recall(x, gallery, labels):.1f}, "
                  f"cosine distance {np.mean(1 - (x * gallery).sum(1)):.4f}")
