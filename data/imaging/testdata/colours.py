#!/usr/bin/env python3
"""Writes colours/: one small picture in other colour spaces than sRGB, and expected.json with its pixels in sRGB, by
LittleCMS for profiles, else by the formulas in float64. The entries are those of make.py.

Needs Debian's python3-pil, python3-numpy, libavif-bin and libjxl-tools."""
import base64
import io
import json
import os
import struct
import subprocess
import tempfile
import zlib

import numpy as np
from PIL import Image, ImageCms

here = os.path.dirname(os.path.abspath(__file__))
out = os.path.join(here, "colours")
os.makedirs(out, exist_ok=True)
with open(os.path.join(here, "../../../internal/format/colourspace/testdata/golden.json")) as f:
    profiles = {c["name"]: base64.b64decode(c["profile"]) for c in json.load(f)}
W, H = 19, 13
x, y = np.meshgrid(np.arange(W), np.arange(H))
rgb = np.stack([x * 13, y * 19, 255 - x * 6 - y * 9], -1).clip(0, 255).astype(np.uint8)
grey = rgb[..., 1].copy()
expected = {}


def keep(name, data, want, tolerance):
    with open(os.path.join(out, name), "wb") as f:
        f.write(data)
    c = 1 if want.ndim == 2 else 3
    expected[name] = {"w": W, "h": H, "c": c, "tolerance": tolerance,
                      "pixels": base64.b64encode(want.astype(np.uint8).tobytes()).decode()}


def saved(image, fmt, **kw):
    b = io.BytesIO()
    image.save(b, fmt, **kw)
    return b.getvalue()


def cms(image, name):
    return np.asarray(ImageCms.profileToProfile(image, io.BytesIO(profiles[name]), ImageCms.createProfile("sRGB"),
                                                outputMode="RGB"))


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(values, depth, extra):
    h, w = values.shape[:2]
    c = 1 if values.ndim == 2 else values.shape[2]
    kind = {1: 0, 3: 2, 4: 6}[c]
    rows = values.reshape(h, w * c)
    raw = b"".join(b"\0" + r.astype(">u2" if depth == 16 else np.uint8).tobytes() for r in rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, depth, kind, 0, 0, 0)) + extra +
            chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def linear(v):
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def encoded(l):
    l = np.clip(l, 0, 1)
    return np.where(l <= 0.0031308, 12.92 * l, 1.055 * l ** (1 / 2.4) - 0.055)


P3 = np.array([[1.2249401763, -0.2249401763, 0], [-0.0420569547, 1.0420569547, 0],
               [-0.0196375546, -0.0786360456, 1.0982736001]])  # linear Display P3 to linear sRGB
from_p3 = lambda v: np.round(255 * encoded(linear(v / 255) @ P3.T))
in_srgb = lambda l: np.round(255 * encoded(l))
colour, l = Image.fromarray(rgb), Image.fromarray(grey)
alpha = ((x + y) * 8).clip(0, 255).astype(np.uint8)
alpha[:4] = 255
p3 = cms(colour, "P3")
icc = lambda name: chunk(b"iCCP", b"x\0\0" + zlib.compress(profiles[name]))
gama = lambda g: chunk(b"gAMA", struct.pack(">I", round(100000 * g)))
cicp = lambda *v: chunk(b"cICP", bytes(v))
chrm = chunk(b"cHRM", struct.pack(">8I", 31270, 32900, 68000, 32000, 26500, 69000, 15000, 6000))

keep("profile.png", png(rgb, 8, icc("P3")), p3, 1)
keep("profile-16bit.png", png(rgb.astype(np.uint16) * 257, 16, icc("P3")), p3, 2)
over = p3.astype(float) * alpha[..., None] / 255 + 255 - alpha[..., None]
keep("profile-alpha.png", png(np.dstack([rgb, alpha]), 8, icc("P3")), np.round(over), 2)
keep("grey.png", png(grey, 8, icc("grey")), cms(l, "grey")[..., 0], 1)
keep("palette.png", saved(colour.quantize(16), "PNG", icc_profile=profiles["P3"]),
     cms(colour.quantize(16).convert("RGB"), "P3"), 1)
keep("linear.png", png(rgb, 8, gama(1)), in_srgb(rgb / 255), 1)
keep("linear-16bit.png", png(np.round(65535 * linear(rgb / 255)).astype(np.uint16), 16, gama(1)), rgb, 1)
keep("linear-grey.png", png(grey, 8, gama(1)), in_srgb(grey / 255), 1)
keep("gamma-srgb.png", png(rgb, 8, gama(1 / 2.2)), rgb, 0)
keep("primaries.png", png(rgb, 8, gama(1 / 2.2) + chrm), from_p3(rgb), 1)
keep("cicp-before-profile.png", png(rgb, 8, cicp(12, 13, 0, 1) + icc("linear")), from_p3(rgb), 1)
keep("profile-before-gamma.png", png(rgb, 8, icc("P3") + gama(1)), p3, 1)
keep("pq.png", png(rgb, 8, cicp(9, 16, 0, 1)), rgb, 0)
keep("grey-in-colours.png", png(grey, 8, icc("linear")), in_srgb(grey / 255), 1)
keep("colours-in-grey.png", png(rgb, 8, icc("grey")), rgb, 0)
keep("damaged.png", png(rgb, 8, chunk(b"iCCP", b"x\0\0" + zlib.compress(b"no profile" * 20))), rgb, 0)
keep("cmyk.jpg", saved(colour.convert("CMYK"), "JPEG", quality=95, subsampling=0,
                       icc_profile=profiles["P3"][:16] + b"CMYK" + profiles["P3"][20:]), rgb, 8)
jpeg = saved(colour, "JPEG", quality=98, subsampling=0, icc_profile=profiles["P3"])
keep("profile.jpg", jpeg, cms(Image.open(io.BytesIO(jpeg)), "P3"), 4)
keep("pieces.jpg", saved(colour, "JPEG", quality=98, subsampling=0, icc_profile=profiles["P3"] + bytes(70000)),
     cms(Image.open(io.BytesIO(jpeg)), "P3"), 4)
keep("grey.jpg", saved(l, "JPEG", quality=98, icc_profile=profiles["grey"]), cms(l, "grey")[..., 0], 4)
keep("profile.tif", saved(colour, "TIFF", icc_profile=profiles["P3"]), p3, 1)
keep("profile.webp", saved(colour, "WEBP", lossless=True, icc_profile=profiles["P3"]), p3, 1)
with tempfile.TemporaryDirectory() as d:
    at = lambda name: os.path.join(d, name)
    colour.save(at("plain.png"))
    colour.save(at("plain.ppm"))
    with open(at("profile.png"), "wb") as f:
        f.write(png(rgb, 8, icc("P3")))

    def tool(name, want, tolerance, *command):
        subprocess.run(command, check=True, capture_output=True)
        with open(at(name), "rb") as f:
            keep(name, f.read(), want, tolerance)

    tool("profile.avif", p3, 1, "avifenc", "-l", at("profile.png"), at("profile.avif"))
    tool("nclx.avif", from_p3(rgb), 1, "avifenc", "--min", "0", "--max", "0", "-y", "444", "--cicp", "12/13/0",
         at("plain.png"), at("nclx.avif"))
    tool("p3.jxl", from_p3(rgb), 1, "cjxl", "-d", "0", "-x", "color_space=RGB_D65_DCI_Rel_SRG", at("plain.ppm"), at("p3.jxl"))
    tool("linear.jxl", in_srgb(rgb / 255), 1, "cjxl", "-d", "0", "-x", "color_space=RGB_D65_SRG_Rel_Lin",
         at("plain.ppm"), at("linear.jxl"))
    tool("gamma.jxl", in_srgb((rgb / 255) ** 1.8), 1, "cjxl", "-d", "0", "-x",
         "color_space=RGB_D65_SRG_Rel_g0.5555555556", at("plain.ppm"), at("gamma.jxl"))
    tool("profile.jxl", rgb, 0, "cjxl", "-d", "0", at("profile.png"), at("profile.jxl"))

with open(os.path.join(out, "expected.json"), "w") as f:
    json.dump(expected, f, indent=1)
