#!/usr/bin/env python3
"""Trains a network by the recipe of another toolkit, for a number of seconds, for `kindred reproduce recipes`.

Usage: python3 bench/recipes.py JOB.json                (what kindred calls)
       python3 bench/recipes.py --self-test [GOLDEN]    checks the losses by plain loops, and by golden cases

Needs torch and numpy, and nothing else: losses, miners and samplers are written from the papers, with the numbers of
the examples that RECIPES names.

JOB.json has: recipe, network (a file of ONNX), seed, seconds (0: no limit), epochs (0: no limit), size (side of the
images), scale and shift (of each channel: a pixel v becomes v * scale + shift), gallery, and train, validation and
test with the labels and the number of images of each. The folder of JOB.json has their pixels, in TRAIN.u8 for train,
and so on: images x size x size x 3 bytes.

The time begins when the network and the images are read, and includes every evaluation but the last. Written beside
JOB.json: start.npy, the embeddings of the first test images before training; test.npy, those of all test images by
the network that is kept; result.json.

Which epoch is kept: the rule of kindred train (docs/training.md). The score of an epoch is the mean over the
validation images of tanh((s - t) / u), where s and t are the similarities of the nearest image of the class and of
the nearest other image, and u is the standard deviation of the similarities between classes. With gallery
"validation" they are searched among each other and the training images of other classes, with "train" among the
training images. The epoch with the highest score is kept, where rises of up to 0.005 do not count, and the network
before training if the epoch is not better by a one-sided paired t-test (p <= 0.05).
"""
import json
import math
import os
import sys
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that spin take the time of whatever else the machine does
try:
    import numpy as np
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as e:
    sys.exit(f"{e}: install it (Debian: apt-get install python3-torch python3-numpy)")

LEAST_STEPS = 8  # of an epoch
LEAST_RISE = 0.005  # of the score, to count as higher
LEVEL = 0.05  # of the t-test against the network before training
MOST_DISTRACTORS = 5000  # training images that validation images are searched among
CHECKED = 32  # test images whose embeddings before training are written

# The numbers of each recipe, and where they are from:
#   multi-similarity  github.com/KevinMusgrave/pytorch-metric-learning, examples/notebooks/MetricLossOnly.ipynb: Adam
#                     with weight decay 1e-4 (trunk 1e-5, embedder 1e-4), a linear layer of 64 values,
#                     MultiSimilarityMiner(0.1), MPerClassSampler(m=4) in batches of 32, RandomResizedCrop of 0.16 to 1
#                     of the area and mirror images. The loss is the library's MultiSimilarityLoss with its defaults:
#                     alpha 2, beta 50, base 0.5.
#   multi-similarity-features
#                     the same without the layer, which begins at random: the features are the embedding, as in
#                     kindred, and the whole network has the rate of the example's layer.
#   hard-triplets     github.com/OML-Team/open-metric-learning,
#                     pipelines/features_extraction/extractor_sop/train_sop.yaml: hard triplets, margin 0.15, features
#                     of length 1, augs_hypvit (RandomResizedCrop of 0.2 to 1, bicubic, and mirror images). Adam at
#                     1e-4 is that of the example on the library's first page; the file has 1e-5, for another network.
#                     16 labels with 4 images each.
#   arcface           the same library, pipelines/features_extraction/configs_experimental/train_inshop_arcface.yaml:
#                     m 0.4, s 64, batches of 128 without a sampler, augs_hypvit. Adam at 1e-4 as above, for the
#                     weights of the classes too.
RECIPES = {
    "multi-similarity": dict(rate=1e-5, head=64, head_rate=1e-4, decay=1e-4, classes=8, per_class=4,
                             area=(0.16, 1), ratio=(0.75, 1.33), cubic=False),
    "multi-similarity-features": dict(rate=1e-4, head=0, head_rate=0, decay=1e-4, classes=8, per_class=4,
                                      area=(0.16, 1), ratio=(0.75, 1.33), cubic=False),
    "hard-triplets": dict(rate=1e-4, head=0, head_rate=1e-4, decay=0, classes=16, per_class=4,
                          area=(0.2, 1), ratio=(3 / 4, 4 / 3), cubic=True),
    "arcface": dict(rate=1e-4, head=0, head_rate=1e-4, decay=0, classes=0, batch=128,
                    area=(0.2, 1), ratio=(3 / 4, 4 / 3), cubic=True),
}


# The network of a file of ONNX.

def fields(b):
    """The fields of a protobuf message: number and value."""
    i = 0

    def varint():
        nonlocal i
        v = shift = 0
        while True:
            c = b[i]
            i += 1
            v |= (c & 127) << shift
            shift += 7
            if c < 128:
                return v

    while i < len(b):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        n = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, b[i:i + n]
        i += n


def varints(values):
    """Whole numbers of a repeated field, packed or not; negative ones are in 64 bits."""
    out = []
    for v in values:
        if isinstance(v, int):
            out.append(v)
            continue
        x = shift = 0
        for c in v:
            x |= (c & 127) << shift
            shift += 7
            if c < 128:
                out.append(x)
                x = shift = 0
    return [v - (1 << 64) if v >> 63 else v for v in out]


def every(message, number):
    return [v for k, v in message if k == number]


def tensor(b):
    """TensorProto with raw data: dims 1, data_type 2, raw_data 9."""
    m = list(fields(b))
    kind = {1: np.float32, 7: np.int64}.get(every(m, 2)[0])
    if kind is None:
        sys.exit(f"a tensor of ONNX type {every(m, 2)[0]}: only float32 and int64 are read")
    return np.frombuffer(every(m, 9)[0], kind).reshape(varints(every(m, 1)))


def attribute(b):
    """AttributeProto: name 1, i 3, s 4, t 5, ints 8."""
    m = list(fields(b))
    name = every(m, 1)[0].decode()
    if every(m, 5):
        return name, tensor(every(m, 5)[0])
    if every(m, 8):
        return name, varints(every(m, 8))
    if every(m, 4):
        return name, every(m, 4)[0].decode()
    return name, varints(every(m, 3) or [0])[0]


def constant(op, x, at):
    """What a node makes of constants: the sizes of paddings are computed in the file."""
    if op == "Constant":
        return at["value"]
    if op == "ConstantOfShape":
        return np.full(x[0], at["value"][0])
    if op == "Concat":
        return np.concatenate(x, at["axis"])
    if op == "Reshape":
        return x[0].reshape(x[1])
    if op == "Slice":
        starts, ends, axes, steps = x[1:5]
        cut = [slice(None)] * x[0].ndim
        for s, e, a, by in zip(starts, ends, axes, steps):
            cut[a] = slice(s, None if by < 0 and e < -x[0].shape[a] else e, by)
        return x[0][tuple(cut)]
    if op == "Transpose":
        return x[0].transpose(at["perm"])
    if op == "Cast":
        return x[0]
    return None


class Network(nn.Module):
    """The graph of a file, whose weights are trained."""

    def __init__(self, path):
        super().__init__()
        with open(path, "rb") as f:
            graph = list(fields(every(fields(f.read()), 7)[0]))
        self.weights = nn.ParameterList()
        self.at, self.known, self.nodes = {}, {}, []
        for b in every(graph, 5):
            name, value = every(fields(b), 8)[0].decode(), tensor(b)
            if value.dtype == np.float32:
                self.at[name] = len(self.weights)
                self.weights.append(nn.Parameter(torch.from_numpy(value.copy())))
            else:
                self.known[name] = value
        inputs = [every(fields(b), 1)[0].decode() for b in every(graph, 11)]
        self.image = next(name for name in inputs if name not in self.at and name not in self.known)
        self.out = every(fields(every(graph, 12)[0]), 1)[0].decode()
        for b in every(graph, 1):
            m = list(fields(b))
            x, y = [v.decode() for v in every(m, 1)], [v.decode() for v in every(m, 2)]
            op, at = every(m, 4)[0].decode(), dict(attribute(v) for v in every(m, 5))
            if all(name in self.known for name in x if name):
                value = constant(op, [self.known[name] for name in x if name], at)
                if value is not None:
                    self.known[y[0]] = value
                    continue
            if op not in OPERATORS:
                sys.exit(f"{path}: operator {op} is not one of {', '.join(OPERATORS)}")
            self.nodes.append((op, x, y[0], at))
        self.join()
        self.to(memory_format=torch.channels_last)  # several times faster here than the usual order

    def join(self):
        """Gives convolutions the even zeros that a node before them adds, which saves a copy of the images."""
        zeros = {y: (x[0], self.known[x[1]]) for op, x, y, _ in self.nodes if op == "Pad"}
        for k, (op, x, y, at) in enumerate(self.nodes):
            source, p = zeros.get(x[0], (None, None))
            if op == "Conv" and source is not None and not any(at.get("pads", ())) and (p[:4] == p[4:]).all():
                self.nodes[k] = (op, [source] + x[1:], y, {**at, "pads": [p[2], p[3], p[2], p[3]]})
        used = {name for _, x, _, _ in self.nodes for name in x} | {self.out}
        self.nodes = [node for node in self.nodes if node[0] != "Pad" or node[2] in used]

    def value(self, values, name):
        if name in self.at:
            return self.weights[self.at[name]]
        return values[name] if name in values else self.known.get(name)

    def forward(self, image):
        values = {self.image: image}
        for op, x, y, at in self.nodes:
            values[y] = OPERATORS[op](*[self.value(values, name) for name in x], **at)
        return values[self.out]


def convolve(x, w, b=None, strides=(1, 1), pads=(0, 0, 0, 0), group=1, dilations=(1, 1), **_):
    pads = [int(p) for p in pads]
    if pads[:2] != pads[2:]:
        x, pads = F.pad(x, (pads[1], pads[3], pads[0], pads[2])), [0, 0]
    return F.conv2d(x, w, b, tuple(strides), tuple(pads[:2]), tuple(dilations), group)


def pad(x, pads, *_, **__):
    before, after = pads[:4], pads[4:]
    return F.pad(x, (int(before[3]), int(after[3]), int(before[2]), int(after[2])))


def mean(x, axes=(2, 3), keepdims=1):
    return x.mean(tuple(axes), keepdim=bool(keepdims))


OPERATORS = {
    "Conv": convolve, "Pad": pad, "ReduceMean": mean, "GlobalAveragePool": lambda x: mean(x),
    "Clip": lambda x, lo, hi: F.hardtanh(x, float(lo), float(hi)), "Relu": F.relu, "Add": torch.add,
    "Flatten": lambda x, axis=1: x.flatten(axis),
}


# Losses, over the embeddings e and the labels y of a batch.

def multi_similarity(e, y, alpha=2.0, beta=50.0, base=0.5, epsilon=0.1):
    """Wang et al. 2019, with the pairs that its section 3.3 chooses."""
    s = F.normalize(e) @ F.normalize(e).t()
    same = y[:, None] == y[None, :]
    pos, neg = same & ~torch.eye(len(y), dtype=torch.bool), ~same
    with torch.no_grad():
        hardest_pos = s.masked_fill(~pos, math.inf).min(1, keepdim=True)[0]
        hardest_neg = s.masked_fill(~neg, -math.inf).max(1, keepdim=True)[0]
        pos, neg = pos & (s < hardest_neg + epsilon), neg & (s > hardest_pos - epsilon)
    near = torch.log1p((torch.exp(-alpha * (s - base)) * pos).sum(1)) / alpha
    far = torch.log1p((torch.exp(beta * (s - base)) * neg).sum(1)) / beta
    return (near + far).mean()


def hard_triplets(e, y, margin=0.15):
    """Hermans et al. 2017, batch hard: of each anchor the farthest of the class and the nearest other (Euclidean)."""
    e = F.normalize(e)
    with torch.no_grad():
        d = torch.cdist(e, e)
        same = y[:, None] == y[None, :]
        pos = same & ~torch.eye(len(y), dtype=torch.bool)
        p, n = d.masked_fill(~pos, -1).argmax(1), d.masked_fill(same, math.inf).argmin(1)
        a = torch.nonzero(pos.any(1) & ~same.all(1)).flatten()
    if len(a) == 0:
        return e.sum() * 0
    distance = lambda i, j: ((e[i] - e[j]) ** 2).sum(1).clamp(min=1e-12).sqrt()
    return F.relu(margin + distance(a, p[a]) - distance(a, n[a])).mean()


def arcface(e, y, weights, m=0.4, s=64.0):
    """Deng et al. 2019: the angle to the weights of the own class is m larger; beyond pi - m the penalty is linear."""
    cos = F.normalize(e) @ F.normalize(weights).t()
    own = cos.gather(1, y[:, None]).clamp(-1 + 1e-7, 1 - 1e-7)
    turned = own * math.cos(m) - (1 - own * own).sqrt() * math.sin(m)
    turned = torch.where(own > -math.cos(m), turned, own - m * math.sin(m))
    return F.cross_entropy(s * cos.scatter(1, y[:, None], turned), y)


# The images, and what trains on them.

class Part:
    """The images of a part with their labels."""

    def __init__(self, folder, name, job):
        size, about = job["size"], job[name]
        pixels = np.fromfile(os.path.join(folder, name + ".u8"), np.uint8)
        self.pixels = torch.from_numpy(pixels.reshape(about["images"], size, size, 3))
        self.labels = np.array(about.get("labels") or [], np.int64)
        self.groups = np.array(about.get("groups") or [], np.int64)
        self.scale, self.shift = (torch.tensor(job[k]).float().view(1, 3, 1, 1) for k in ("scale", "shift"))

    def __len__(self):
        return len(self.pixels)

    def images(self, index):
        """As the network takes them, without changes."""
        x = self.pixels[torch.as_tensor(index)].permute(0, 3, 1, 2).float()
        return x * self.scale + self.shift


def crops(x, rng, area, ratio, cubic):
    """A random part of each image, by its share of the area and the ratio of its sides; half of them are mirrored."""
    theta = np.zeros((len(x), 2, 3), np.float32)
    for t in theta:
        w = h = 1.0
        for _ in range(10):
            share, r = rng.uniform(*area), math.exp(rng.uniform(math.log(ratio[0]), math.log(ratio[1])))
            if share * r <= 1 and share / r <= 1:
                w, h = math.sqrt(share * r), math.sqrt(share / r)
                break
        t[0, 0], t[0, 2] = w * rng.choice((-1, 1)), rng.uniform(-1, 1) * (1 - w)
        t[1, 1], t[1, 2] = h, rng.uniform(-1, 1) * (1 - h)
    grid = F.affine_grid(torch.from_numpy(theta), list(x.shape), align_corners=False)
    return F.grid_sample(x, grid, "bicubic" if cubic else "bilinear", "border", align_corners=False)


def batches(labels, rng, recipe):
    """Positions for a step, without end: of a number of classes, or of images in random order."""
    if not recipe["classes"]:
        while True:
            order = rng.permutation(len(labels))
            n = min(recipe["batch"], len(order))
            for i in range(0, len(order) - n + 1, n):
                yield order[i:i + n]
    of = [np.flatnonzero(labels == y) for y in np.unique(labels)]
    k = recipe["per_class"]
    while True:
        order = rng.permutation(len(of))
        n = min(recipe["classes"], len(order))
        for i in range(0, len(order) - n + 1, n):
            yield np.concatenate([rng.choice(of[c], k, replace=len(of[c]) < k) for c in order[i:i + n]])


def embed(net, part, index=None):
    index = np.arange(len(part)) if index is None else index
    pieces = np.array_split(index, -(-len(index) // 64))
    with torch.no_grad():
        return torch.cat([F.normalize(net(part.images(i))) for i in pieces]).numpy()


def margins(net, validation, train, gallery):
    """tanh((s - t) / u) of each validation image; NaN where the gallery lacks its class or any other."""
    q, y = embed(net, validation), validation.labels
    if gallery == "train":
        parts = [(embed(net, train), train.labels, False, True)]
    else:
        n = len(train)
        far = np.arange(n) if n <= MOST_DISTRACTORS else np.arange(MOST_DISTRACTORS) * n // MOST_DISTRACTORS
        parts = [(q, y, True, True), (embed(net, train, far), train.labels[far], False, False)]
    own, other = np.full(len(q), -np.inf), np.full(len(q), -np.inf)
    between = []
    for g, labels, itself, counts in parts:
        s = q.astype(np.float64) @ g.T.astype(np.float64)
        same = y[:, None] == labels[None, :]
        between.append(s[~same])
        other = np.maximum(other, np.where(same, -np.inf, s).max(1))
        if itself:
            np.fill_diagonal(same, False)
        if counts:
            own = np.maximum(own, np.where(same, s, -np.inf).max(1))
    u = np.concatenate(between).std()
    with np.errstate(invalid="ignore"):
        d = np.where(np.isfinite(own) & np.isfinite(other), own - other, np.nan)
    return np.where(d == 0, 0, np.tanh(d / max(u, 5e-324)))


def known_mean(values):
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else 0.0


def chance(before, after, groups):
    """p of the one-sided paired t-test; the images of a group count as one, by their mean."""
    known = ~np.isnan(before) & ~np.isnan(after)
    of = groups[known] if len(groups) else np.flatnonzero(known)
    d = (after - before)[known]
    d = np.array([d[of == g].mean() for g in np.unique(of)])
    n, s = len(d), d.std(ddof=1) if len(d) > 1 else 0.0
    if n < 2 or s == 0:
        return 0.0 if n >= 2 and d.mean() > 0 else 1.0
    t, free = d.mean() * math.sqrt(n) / s, n - 1
    x = np.linspace(0, min(abs(t), 60), 200001)
    density = math.exp(math.lgamma((free + 1) / 2) - math.lgamma(free / 2)) / math.sqrt(free * math.pi)
    inside = np.trapz(density * (1 + x * x / free) ** (-(free + 1) / 2), x)
    return max(0.5 - inside, 0.0) if t > 0 else 0.5 + inside


class Run:
    """A recipe at work."""

    def __init__(self, job, folder):
        self.job, self.folder, self.recipe = job, folder, RECIPES[job["recipe"]]
        torch.manual_seed(job["seed"])
        self.rng = np.random.default_rng(job["seed"])
        self.train, self.validation, self.test = (Part(folder, name, job) for name in ("train", "validation", "test"))
        self.net = Network(job["network"]).eval()
        if self.net.weights[0].dim() == 4 and self.net.weights[0].shape[1] != 3:
            sys.exit(f"{job['network']}: takes images of {self.net.weights[0].shape[1]} channels, not of 3")
        dim = self.net(self.test.images([0])).shape[1]
        classes, self.train_labels = np.unique(self.train.labels, return_inverse=True)
        groups = [dict(params=list(self.net.parameters()), lr=self.recipe["rate"])]
        self.whole = self.net  # with the embedding layer, if there is one
        if self.recipe["head"]:
            head = nn.Linear(dim, self.recipe["head"])
            self.whole = nn.Sequential(self.net, head)
            groups.append(dict(params=list(head.parameters()), lr=self.recipe["head_rate"]))
        self.loss = hard_triplets if job["recipe"] == "hard-triplets" else multi_similarity
        if job["recipe"] == "arcface":
            weights = nn.Parameter(nn.init.xavier_uniform_(torch.empty(len(classes), dim)))
            self.loss = lambda e, y: arcface(e, y, weights)
            groups.append(dict(params=[weights], lr=self.recipe["head_rate"]))
        self.adam = torch.optim.Adam(groups, weight_decay=self.recipe["decay"])
        self.batches = batches(self.train.labels, self.rng, self.recipe)
        self.began = time.perf_counter()

    def over(self):
        return 0 < self.job["seconds"] <= time.perf_counter() - self.began

    def step(self):
        index = next(self.batches)
        x = self.train.pixels[torch.from_numpy(index)].permute(0, 3, 1, 2).float()
        x = crops(x, self.rng, self.recipe["area"], self.recipe["ratio"], self.recipe["cubic"]).clamp(0, 255)
        e = self.whole(x * self.train.scale + self.train.shift)
        loss = self.loss(e, torch.from_numpy(self.train_labels[index]))
        if not torch.isfinite(loss):
            sys.exit(f"the loss of {self.job['recipe']} is {loss.item()}")
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        return loss.item(), len(index)

    def epoch(self, number, drawn):
        """Steps until the epoch has drawn as many images as there are, or the time is over; then its score."""
        began, losses, images = time.perf_counter(), [], 0
        while (images < drawn or len(losses) < LEAST_STEPS) and not self.over():
            loss, n = self.step()
            losses.append(loss)
            images += n
        if not losses:
            return None, None
        trained = time.perf_counter()
        m = self.margins(self.whole)
        row = dict(epoch=number, steps=len(losses), images=images, loss=float(np.mean(losses)), margin=known_mean(m),
                   train_seconds=trained - began, eval_seconds=time.perf_counter() - trained)
        print("epoch {epoch}: {steps} steps, loss {loss:.4f}, margin {margin:.4f}, {train_seconds:.1f} s of training, "
              "{eval_seconds:.1f} s of validation".format(**row), file=sys.stderr, flush=True)
        return row, m

    def margins(self, net):
        return margins(net, self.validation, self.train, self.job["gallery"])

    def train_all(self):
        checked = np.arange(min(CHECKED, len(self.test)))
        np.save(os.path.join(self.folder, "start.npy"), embed(self.net, self.test, checked))
        self.began = time.perf_counter()
        start, original = self.margins(self.net), [p.detach().clone() for p in self.net.parameters()]
        rows, best, kept, weights = [], None, 0, None
        while not self.over() and (not self.job["epochs"] or len(rows) < self.job["epochs"]):
            row, m = self.epoch(len(rows) + 1, len(self.train))
            if row is None:
                break
            rows.append(row)
            if best is None or row["margin"] > known_mean(best) + LEAST_RISE:
                best, kept, weights = m, row["epoch"], [p.detach().clone() for p in self.whole.parameters()]
        if not rows:
            sys.exit(f"no step was taken in {self.job['seconds']:g} s: give more time")
        p = chance(start, best, self.validation.groups)
        net = self.whole if p <= LEVEL else self.net
        with torch.no_grad():
            for q, v in zip(net.parameters(), weights if p <= LEVEL else original):
                q.copy_(v)
        seconds = time.perf_counter() - self.began
        np.save(os.path.join(self.folder, "test.npy"), embed(net, self.test))
        return dict(epochs=rows, kept=kept if p <= LEVEL else 0, p=p, start_margin=known_mean(start), seconds=seconds,
                    parameters=sum(q.numel() for q in self.whole.parameters()), threads=torch.get_num_threads(),
                    versions=dict(torch=torch.__version__, numpy=np.__version__))


def self_test(golden):
    rng = np.random.default_rng(1)
    e, y, w = rng.standard_normal((12, 5)), np.repeat(np.arange(4), 3), rng.standard_normal((4, 5))
    unit = e / np.linalg.norm(e, axis=1, keepdims=True)
    s, n = unit @ unit.T, len(y)
    ms = hard = arc = 0
    for i in range(n):
        pos, neg = [j for j in range(n) if y[j] == y[i] and j != i], [j for j in range(n) if y[j] != y[i]]
        near = [j for j in pos if s[i, j] < max(s[i, neg]) + 0.1]
        far = [j for j in neg if s[i, j] > min(s[i, pos]) - 0.1]
        ms += math.log1p(sum(math.exp(-2 * (s[i, j] - 0.5)) for j in near)) / 2 / n
        ms += math.log1p(sum(math.exp(50 * (s[i, j] - 0.5)) for j in far)) / 50 / n
        d = [math.dist(unit[i], unit[j]) for j in range(n)]
        hard += max(0, 0.15 + max(d[j] for j in pos) - min(d[j] for j in neg)) / n
        cos = [unit[i] @ c / np.linalg.norm(c) for c in w]
        angle = math.acos(cos[y[i]])
        cos[y[i]] = math.cos(angle + 0.4) if angle < math.pi - 0.4 else cos[y[i]] - 0.4 * math.sin(0.4)
        arc += (math.log(sum(math.exp(64 * c) for c in cos)) - 64 * cos[y[i]]) / n
    te, ty = torch.from_numpy(e), torch.from_numpy(y)
    checks = [("multi-similarity", multi_similarity(te, ty), ms), ("hard-triplets", hard_triplets(te, ty), hard),
              ("arcface", arcface(te, ty, torch.from_numpy(w)), arc),
              # By scipy.stats.ttest_1samp.
              ("t-test", chance(np.zeros(4), np.array([1.0, 2, 3, 4]), np.array([])), 0.0152331)]
    if golden:
        with open(os.path.join(golden, "cases.json")) as f:
            cases = [c for c in json.load(f) if c["name"].startswith("ms_all_")]
        for c in cases:
            x, labels = (torch.from_numpy(np.load(os.path.join(golden, f"{c['name']}.{k}.npy"))) for k in "xy")
            checks.append((c["name"], multi_similarity(x.double(), labels), c["value"]))
    for name, got, want in checks:
        if not math.isclose(float(got), want, rel_tol=1e-5):
            sys.exit(f"{name}: {float(got)}, want {want}")
    print(f"{len(checks)} checks passed")


def main(args):
    if args[:1] == ["--self-test"] and len(args) <= 2:
        return self_test(args[1] if len(args) > 1 else None)
    if len(args) != 1 or args[0].startswith("-"):
        sys.exit(__doc__)
    with open(args[0]) as f:
        job = json.load(f)
    if job["recipe"] not in RECIPES:
        sys.exit(f"recipe {job['recipe']!r} is not one of {', '.join(RECIPES)}")
    torch.set_num_threads(os.cpu_count())
    folder = os.path.dirname(os.path.abspath(args[0]))
    result = Run(job, folder).train_all()
    with open(os.path.join(folder, "result.json"), "w") as f:
        json.dump(result, f, indent=1)


if __name__ == "__main__":
    main(sys.argv[1:])
