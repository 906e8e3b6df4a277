#!/usr/bin/env python3
"""Writes formats/: one small picture in many formats, and expected.json with what PIL reads.

Needs Debian's python3-pil and python3-numpy. Each entry: width, height, channels, pixels in
base64, and the largest difference that a reader may show (lossy codes and chroma differ)."""
import base64
import io
import json
import os

import numpy as np
from PIL import Image

here = os.path.dirname(os.path.abspath(__file__))
out = os.path.join(here, "formats")
W, H = 19, 13
x, y = np.meshgrid(np.arange(W), np.arange(H))
rgb = np.stack([x * 13, y * 19, 255 - x * 6 - y * 9], -1).clip(0, 255).astype(np.uint8)
grey = rgb[..., 1].copy()
alpha = ((x + y) * 8).clip(0, 255).astype(np.uint8)
alpha[:4] = 255
over = np.round(rgb.astype(float) * alpha[..., None] / 255 + 255 - alpha[..., None]).astype(np.uint8)
grey_over = np.round(grey.astype(float) * alpha / 255 + 255 - alpha).astype(np.uint8)
expected = {}


def keep(name, data, want, tolerance):
    with open(os.path.join(out, name), "wb") as f:
        f.write(data)
    want = np.asarray(want)
    c = 1 if want.ndim == 2 else 3
    expected[name] = {"w": want.shape[1], "h": want.shape[0], "c": c, "tolerance": tolerance,
                      "pixels": base64.b64encode(want.astype(np.uint8).tobytes()).decode()}


def saved(image, fmt, **kw):
    b = io.BytesIO()
    image.save(b, fmt, **kw)
    return b.getvalue()


def lossy(name, image, fmt, tolerance, **kw):
    data = saved(image, fmt, **kw)
    mode = "L" if image.mode == "L" else "RGB"
    keep(name, data, np.asarray(Image.open(io.BytesIO(data)).convert(mode)), tolerance)


colour, l = Image.fromarray(rgb), Image.fromarray(grey)
for sub, tag, tol in ((0, "444", 4), (1, "422", 40), (2, "420", 60)):
    lossy(f"jpeg-{tag}.jpg", colour, "JPEG", tol, quality=90, subsampling=sub)
lossy("jpeg-progressive.jpg", colour, "JPEG", 4, quality=90, subsampling=0, progressive=True)
lossy("jpeg-optimized.jpg", colour, "JPEG", 4, quality=90, subsampling=0, optimize=True)
lossy("jpeg-grey.jpg", l, "JPEG", 3, quality=90)
lossy("jpeg-cmyk.jpg", colour.convert("CMYK"), "JPEG", 6, quality=95, subsampling=0)
base = saved(colour, "JPEG", quality=90, subsampling=0)
plain = np.asarray(Image.open(io.BytesIO(base)).convert("RGB"))
turned = {1: plain, 2: plain[:, ::-1], 3: plain[::-1, ::-1], 4: plain[::-1], 5: plain.transpose(1, 0, 2),
          6: plain[::-1].transpose(1, 0, 2), 7: plain[::-1, ::-1].transpose(1, 0, 2), 8: plain[:, ::-1].transpose(1, 0, 2)}
for o, want in turned.items():
    exif = Image.Exif()
    exif[0x0112] = o
    data = saved(colour, "JPEG", quality=90, subsampling=0, exif=exif.tobytes())
    from PIL import ImageOps
    assert (np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data)))) == want).all(), o
    keep(f"jpeg-exif{o}.jpg", data, want, 4)

keep("png-rgb.png", saved(colour, "PNG"), rgb, 0)
keep("png-grey.png", saved(l, "PNG"), grey, 0)
keep("png-bilevel.png", saved(l.convert("1", dither=0), "PNG"), np.asarray(l.convert("1", dither=0)) * 255, 0)
keep("png-rgba.png", saved(Image.fromarray(np.dstack([rgb, alpha])), "PNG"), over, 1)
keep("png-grey-alpha.png", saved(Image.merge("LA", [l, Image.fromarray(alpha)]), "PNG"), np.dstack([grey_over] * 3), 1)
pal = colour.quantize(16)
keep("png-palette.png", saved(pal, "PNG"), np.asarray(pal.convert("RGB")), 0)
deep = (grey.astype(np.uint16) << 8) + 200
keep("png-grey16.png", saved(Image.fromarray(deep), "PNG"), grey, 0)
keep("gif.gif", saved(pal, "GIF"), np.asarray(Image.open(io.BytesIO(saved(pal, "GIF"))).convert("RGB")), 0)
keep("bmp.bmp", saved(colour, "BMP"), rgb, 0)
keep("bmp-palette.bmp", saved(pal, "BMP"), np.asarray(pal.convert("RGB")), 0)
keep("webp-lossless.webp", saved(colour, "WEBP", lossless=True), rgb, 0)
# Lossy WebP is decoded as libwebp does it, to the level: PIL hands out libwebp's pixels.
lossy("webp.webp", colour, "WEBP", 0, quality=90)
for name, rgb8 in (("black", (0, 0, 0)), ("white", (255, 255, 255)), ("red", (255, 0, 0)), ("blue", (0, 0, 255))):
    lossy(f"webp-{name}.webp", Image.new("RGB", (5, 3), rgb8), "WEBP", 0, quality=90)
blocks = np.where(((x // 3 + y // 3) % 2)[..., None] == 0, [255, 0, 40], [10, 240, 90]).astype(np.uint8)
lossy("webp-edges.webp", Image.fromarray(blocks), "WEBP", 0, quality=90)
lossy("webp-pixel.webp", Image.fromarray(blocks[:1, :1]), "WEBP", 0, quality=90)
data = saved(Image.fromarray(np.dstack([rgb, alpha])), "WEBP", quality=90)
got = np.asarray(Image.open(io.BytesIO(data)).convert("RGBA")).astype(float)
keep("webp-lossy-alpha.webp", data, np.round(got[..., :3] * got[..., 3:] / 255 + 255 - got[..., 3:]), 1)
keep("webp-alpha.webp", saved(Image.fromarray(np.dstack([rgb, alpha])), "WEBP", lossless=True, exact=True), over, 1)
keep("tiff.tif", saved(colour, "TIFF"), rgb, 0)
keep("tiff-lzw.tif", saved(colour, "TIFF", compression="tiff_lzw"), rgb, 0)
keep("tiff-deflate.tif", saved(colour, "TIFF", compression="tiff_adobe_deflate"), rgb, 0)
keep("tiff-grey16.tif", saved(Image.fromarray(deep), "TIFF"), grey, 0)
keep("pnm.ppm", saved(colour, "PPM"), rgb, 0)
keep("pnm.pgm", saved(l, "PPM"), grey, 0)
keep("pnm.pbm", saved(l.convert("1", dither=0), "PPM"), np.asarray(l.convert("1", dither=0)) * 255, 0)
keep("pnm-text.ppm", b"P3\n# a comment\n%d %d\n255\n" % (W, H) + b" ".join(b"%d" % v for v in rgb.ravel()), rgb, 0)
keep("pnm-text.pgm", b"P2 %d %d 255\n" % (W, H) + b"\n".join(b"%d" % v for v in grey.ravel()), grey, 0)
keep("pnm-text.pbm", b"P1 %d %d\n" % (W, H) + b"".join(b"%d" % (v < 128) for v in grey.ravel()), (grey >= 128) * 255, 0)
keep("pnm-16bit.pgm", b"P5\n%d %d\n65535\n" % (W, H) + (grey.astype(">u2") * 257).tobytes(), grey, 0)
keep("pnm-10bit.ppm", b"P6 %d %d 1023\n" % (W, H) + np.round(rgb * (1023 / 255)).astype(">u2").tobytes(), rgb, 0)
with open(os.path.join(here, "expected.json"), "w") as f:
    json.dump(expected, f, indent=1, sort_keys=True)
    f.write("\n")
