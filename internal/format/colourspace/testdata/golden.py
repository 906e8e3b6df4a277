#!/usr/bin/python3
# Writes golden.json: profiles, and colours that LittleCMS (Pillow's ImageCms) converts from them to sRGB.
import base64, io, json, os, struct
import numpy as np
from PIL import Image, ImageCms

s15 = lambda x: struct.pack('>i', int(round(x * 65536)))
xyz = lambda v: b'XYZ \0\0\0\0' + b''.join(s15(x) for x in v)
para = lambda kind, *v: b'para\0\0\0\0' + struct.pack('>HH', kind, 0) + b''.join(s15(x) for x in v)
curv = lambda *v: b'curv\0\0\0\0' + struct.pack('>I', len(v)) + struct.pack('>%dH' % len(v), *v)

def profile(space, tags, pcs=b'XYZ ', version=b'\x04\0\0\0'):
    desc = b'mluc\0\0\0\0' + struct.pack('>II', 1, 12) + b'enUS' + struct.pack('>II', 8, 28) + 'test'.encode('utf-16-be')
    tags = [(b'desc', desc), (b'cprt', desc), (b'wtpt', xyz((.9642, 1, .8249)))] + tags
    at, body, table = 132 + 12 * len(tags), b'', b''
    for name, d in tags:
        d += b'\0' * (-len(d) % 4)
        table += name + struct.pack('>II', at + len(body), len(d))
        body += d
    h = bytearray(128)
    h[0:4], h[8:12], h[12:16], h[16:20], h[20:24] = struct.pack('>I', at + len(body)), version, b'mntr', space, pcs
    h[36:40], h[68:80] = b'acsp', s15(.9642) + s15(1) + s15(.8249)
    return bytes(h) + struct.pack('>I', len(tags)) + table + body

def rgb(colours, *curves):
    curves = curves * (3 // len(curves))
    return profile(b'RGB ', [(n + b'XYZ', xyz(c)) for n, c in zip((b'r', b'g', b'b'), colours)] +
                   [(n + b'TRC', c) for n, c in zip((b'r', b'g', b'b'), curves)])

P3 = ((.51512, .2412, -.00105), (.29198, .69225, .04189), (.1571, .06657, .78407))
ADOBE = ((.60974, .31111, .01947), (.20528, .62567, .06087), (.14919, .06322, .74457))
SRGB = ((.43607, .22249, .01392), (.38515, .71687, .09708), (.14307, .06061, .7141))
PROPHOTO = ((.79767, .28804, 0), (.13519, .71188, 0), (.03134, .00009, .8249))
sampled = lambda g, n: curv(*[int(round(65535 * (i / (n - 1)) ** g)) for i in range(n)])
cases = {
    'P3': rgb(P3, para(3, 2.4, 1 / 1.055, .055 / 1.055, 1 / 12.92, .04045)),
    'P3 of function 4': rgb(P3, para(4, 2.4, 1 / 1.055, .055 / 1.055, 1 / 12.92, .04045, 0, 0)),
    'Adobe RGB': rgb(ADOBE, curv(int(2.19921875 * 256))),
    'linear': rgb(SRGB, curv()),
    'sampled at 1024': rgb(P3, sampled(1.8, 1024)),
    'sampled at 5': rgb(SRGB, sampled(1.5, 5)),
    'three curves': rgb(ADOBE, curv(461), para(0, 2.6), sampled(2.0, 64)),
    'functions 1 and 2': rgb(SRGB, para(1, 2.0, 1.1, -.1), para(2, 2.0, .9, -.05, 0), para(0, 2.2)),
    'swapped': rgb(SRGB[::-1], para(3, 2.4, 1 / 1.055, .055 / 1.055, 1 / 12.92, .04045)),
    'ProPhoto': rgb(PROPHOTO, para(0, 1.8)),
    'grey': profile(b'GRAY', [(b'kTRC', curv(461))]),
    'grey in Lab': profile(b'GRAY', [(b'kTRC', curv(int(2.2 * 256)))], b'Lab '),
}
r = np.random.default_rng(1)
out = []
for name, b in cases.items():
    n = 1 if name.startswith('grey') else 3
    pixels = np.concatenate([r.integers(0, 256, (1, 90, n)), np.arange(0, 256, 15)[None, :, None].repeat(n, 2)], 1)
    im = Image.fromarray(pixels.astype(np.uint8) if n == 3 else pixels[:, :, 0].astype(np.uint8))
    srgb = ImageCms.createProfile('sRGB')
    to = ImageCms.profileToProfile(im, io.BytesIO(b), srgb, outputMode='RGB')
    out.append({'name': name, 'profile': base64.b64encode(b).decode(), 'grey': n == 1, 'pixels': im.tobytes().hex(),
                'srgb': (to.tobytes() if n == 3 else to.tobytes()[::3]).hex()})
json.dump(out, open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'golden.json'), 'w'), indent=1)
