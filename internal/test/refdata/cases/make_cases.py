#!/usr/bin/env python3
"""Writes cases.json.gz: what losses, metrics and clustering scores should be.

It shares no code with kindred. Losses are written down from their definitions,
tuple by tuple, in double precision; gradients are complex-step derivatives,
Im f(x + ih) / h with h = 1e-30, exact to rounding (Squire and Trapp 1998).
Retrieval metrics come from sorted lists of exact distances, clustering scores from
definitions over pairs and from exact rational hypergeometric sums.

Needs numpy. Run it in this folder; the same file comes out every time:

    python3 make_cases.py
"""

import gzip
import json
from fractions import Fraction
from math import comb, fsum, log, sqrt

import numpy as np

STEP = 1e-30


# ---------------------------------------------------------------- batches

def single(x):
    """Rounds to float32, which is what kindred reads."""
    return np.asarray(x, dtype=np.float32).astype(np.float64)


def batches():
    rng = np.random.RandomState(20261121)
    out = {}

    def add(name, x, labels, ids=None):
        out[name] = {"x": single(x), "labels": [int(y) for y in labels]}
        if ids is not None:
            out[name]["ids"] = [int(i) for i in ids]

    def around(labels, d, within):
        centres = {y: rng.randn(d) for y in dict.fromkeys(labels)}
        return np.array([centres[y] + within * rng.randn(d) for y in labels])

    add("plain", rng.randn(13, 7), [0, 1, 2, 0, 1, 2, 0, 1, 3, 3, 2, 0, 3])
    tight = [0] * 5 + [1] * 3 + [2] * 4 + [3] * 5
    add("clustered", around(tight, 9, 0.3), tight)
    add("singletons", rng.randn(9, 5), [0, 1, 2, 2, 3, 4, 5, 5, 5])
    add("all_singletons", rng.randn(5, 3), [0, 1, 2, 3, 4])
    add("one_class", rng.randn(6, 4), [0] * 6)
    add("two_rows", rng.randn(2, 3), [0, 0])
    add("one_row", rng.randn(1, 6), [0])
    add("large_labels", rng.randn(8, 1 + 16), [2**53 + 1, -7, 2**53, -7, 2**53 + 1, 2**53, 2**53, -8])
    x = rng.randn(10, 4)
    x[3], x[7], x[8] = x[0], x[1], x[1]  # within a class, and across classes
    add("duplicates", x, [0, 1, 0, 0, 1, 2, 2, 2, 1, 0])
    base = rng.randn(4)
    x = np.array([base, 1.02 * base + 0.02 * rng.randn(4), -base, -base + 0.03 * rng.randn(4),
                  -3 * base + 0.02 * rng.randn(4), 5 * base + 0.1 * rng.randn(4), rng.randn(4)])
    add("far_and_near", x, [0, 1, 0, 1, 0, 1, 0])  # nearly equal rows of two classes, opposite rows of one
    add("large", 40 * rng.randn(7, 3), [0, 0, 1, 1, 1, 2, 2])
    add("one_dimension", rng.randn(6, 1), [0, 0, 1, 1, 2, 2])
    x = rng.randn(11, 6)
    x[4], x[9] = x[1], x[6]
    add("identities", x, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1], [0, 1, 2, 3, 1, 5, 6, 7, 8, 6, 10])
    # Two rows of each sample, three of one; the last class has one sample alone.
    ids = [4, 5, 6, 7, 8, 4, 9, 5, 6, 9, 7, 8, 4]
    add("views", rng.randn(13, 5), [{4: 0, 5: 0, 6: 0, 7: 1, 8: 1, 9: 2}[i] for i in ids], ids)
    return out


# ---------------------------------------------------------------- arithmetic that complex steps pass through

def re(x):
    return x.real


def dot(a, b):
    return (a * b).sum()


def d2(a, b):
    return ((a - b) ** 2).sum()


def dist(a, b):
    """Euclidean; at equal points the gradient is 0 by convention."""
    s = d2(a, b)
    return 0.0 if abs(s) < 1e-50 else np.sqrt(s)


def hinge(v):
    return v if re(np.asarray(v)) > 0 else 0.0


def lse(z):
    """log of the sum of exponentials."""
    top = max(re(np.asarray(v)) for v in z)
    return top + np.log(sum(np.exp(v - top) for v in z))


def unit(x):
    n = np.sqrt((x ** 2).sum(axis=1))
    return np.array([r / k if abs(k) > 0 else r for r, k in zip(x, n)])


# ---------------------------------------------------------------- tuples

class Batch:
    """A batch with the tuples that policies choose at its real embeddings."""

    def __init__(self, x, labels, ids, normalize, positives, negatives, epsilon=0.1, loss=None, ranges=None):
        self.labels, self.normalize = labels, normalize
        self.n = len(labels)
        ids = ids if ids is not None else list(range(self.n))
        e = unit(x) if normalize else x
        self.base = e
        near = [[float(d2(e[i], e[j])) for j in range(self.n)] for i in range(self.n)]
        sim = [[float(dot(e[i], e[j])) for j in range(self.n)] for i in range(self.n)]
        self.pos, self.neg, self.paired = [], [], negatives == "semihard"
        for i in range(self.n):
            own = [j for j in range(self.n) if labels[j] == labels[i] and ids[j] != ids[i]]
            other = [j for j in range(self.n) if labels[j] != labels[i]]
            if loss == "maskcon":  # other rows of the same sample belong to it too
                own = [j for j in range(self.n) if labels[j] == labels[i] and j != i]
            if loss == "spread":  # rows of the same sample against other samples of its class
                own, other = [j for j in range(self.n) if ids[j] == ids[i] and j != i], own
            if ranges:  # of Euclidean distance, ends included
                own, other = [[j for j in side if r[0] <= sqrt(near[i][j]) <= r[1]]
                              for side, r in ((own, ranges[0]), (other, ranges[1]))]
            p = {"all": own, "easy": [min(own, key=lambda j: (near[i][j], j))] if own else [],
                 "hard": [max(own, key=lambda j: (near[i][j], -j))] if own else []}
            p["ms"] = [j for j in own if other and sim[i][j] < max(sim[i][k] for k in other) + epsilon]
            pos = p.get(positives)  # semihard ones wait for the negative
            if negatives == "all":
                neg = other
            elif negatives == "hard":
                neg = [min(other, key=lambda j: (near[i][j], j))] if other else []
            elif negatives == "easy":
                neg = [max(other, key=lambda j: (near[i][j], -j))] if other else []
            elif negatives == "ms":
                neg = [j for j in other if own and sim[i][j] > min(sim[i][k] for k in own) - epsilon]
            else:  # semihard: the nearest negative farther than each positive
                neg = []
                for q in pos:
                    far = [j for j in other if near[i][j] > near[i][q]]
                    neg.append(min(far, key=lambda j: (near[i][j], j)) if far else None)
            if positives == "semihard":  # the farthest nearer than all negatives that were chosen
                inside = [j for j in own if neg and near[i][j] < min(near[i][k] for k in neg)]
                pos = [max(inside, key=lambda j: (near[i][j], -j))] if inside else []
            self.pos.append(pos)
            self.neg.append(neg)

    def rows(self, x):
        return unit(x) if self.normalize else x

    def triplets(self):
        for a in range(self.n):
            if self.paired:
                yield from ((a, p, n) for p, n in zip(self.pos[a], self.neg[a]) if n is not None)
            else:
                yield from ((a, p, n) for p in self.pos[a] for n in self.neg[a])

    def pairs(self):
        for a in range(self.n):
            yield from ((a, p, True) for p in self.pos[a])
            yield from ((a, n, False) for n in self.neg[a] if n is not None)


# ---------------------------------------------------------------- losses: lists of terms

def triplet(b, e, p, o):
    d = dist if o.get("distance") == "euclidean" else d2
    return [hinge(d(e[i], e[j]) - d(e[i], e[k]) + o.get("margin", 0.2)) for i, j, k in b.triplets()]


def soft_triplet(b, e, p, o):
    d = d2 if o.get("distance") == "squared" else dist
    return [lse([0, d(e[i], e[j]) - d(e[i], e[k])]) for i, j, k in b.triplets()]


def nca(b, e, p, o):
    return [lse([0, dot(e[i], e[k]) - dot(e[i], e[j])]) for i, j, k in b.triplets()]


def nca2(b, e, p, o):
    def term(ap, an):
        return lse([0, an ** 2 / 2 - ap + ap ** 2 / 2])
    return [term(dot(e[i], e[j]), dot(e[i], e[k])) for i, j, k in b.triplets()]


def contrastive(b, e, p, o):
    d = d2 if o.get("distance") == "squared" else dist
    return [d(e[i], e[j]) if own else hinge(o.get("margin", 0.5) - d(e[i], e[j])) for i, j, own in b.pairs()]


def margin(b, e, p, o):
    d, alpha = (d2 if o.get("distance") == "squared" else dist), o.get("margin", 0.2)
    beta = p[:, 0]
    return [hinge((d(e[i], e[j]) - beta[b.labels[i]] if own else beta[b.labels[i]] - d(e[i], e[j])) + alpha)
            for i, j, own in b.pairs()]


def multisimilarity(b, e, p, o):
    alpha, beta, lam = o.get("alpha", 2), o.get("beta", 50), o.get("lambda", 0.5)
    out = []
    for i in range(b.n):
        if not b.pos[i] or not b.neg[i]:
            out.append(0.0)
            continue
        out.append(lse([0] + [-alpha * (dot(e[i], e[j]) - lam) for j in b.pos[i]]) / alpha
                   + lse([0] + [beta * (dot(e[i], e[j]) - lam) for j in b.neg[i]]) / beta)
    return out


def ratios(b, e, scale):
    return [lse([0] + [scale * (dot(e[i], e[n]) - dot(e[i], e[j])) for n in b.neg[i]])
            for i in range(b.n) if b.neg[i] for j in b.pos[i]]


def npair(b, e, p, o):
    return ratios(b, e, 1)


def ntxent(b, e, p, o):
    return ratios(b, e, 1 / o.get("temperature", 0.07))


def supcon(b, e, p, o):
    t, out = o.get("temperature", 0.1), []
    for i in range(b.n):
        if b.pos[i]:
            total = lse([dot(e[i], e[j]) / t for j in b.pos[i] + b.neg[i]])
            out.append(sum(total - dot(e[i], e[j]) / t for j in b.pos[i]) / len(b.pos[i]))
    return out


def maskcon(b, e, p, o):
    t, soft, out = o.get("temperature", 0.1), o.get("soft", 0.05), []
    for i in range(b.n):
        if b.pos[i]:  # the weights are constants in the gradient
            near = np.array([dot(b.base[i], b.base[j]) for j in b.pos[i]])
            w = np.exp((near - near.max()) / soft)
            total = lse([dot(e[i], e[j]) / t for j in b.pos[i] + b.neg[i]])
            out.append(sum(v / w.sum() * (total - dot(e[i], e[j]) / t) for v, j in zip(w, b.pos[i])))
    return out


def circle(b, e, p, o):
    m, gamma, out = o.get("margin", 0.4), o.get("gamma", 80), []
    for i in range(b.n):
        if b.pos[i] and b.neg[i]:  # the weights are constants in the gradient
            ap = [max(0, 1 + m - dot(b.base[i], b.base[j])) for j in b.pos[i]]
            an = [max(0, dot(b.base[i], b.base[j]) + m) for j in b.neg[i]]
            out.append(lse([0, lse([gamma * w * (dot(e[i], e[j]) - m) for w, j in zip(an, b.neg[i])])
                            + lse([-gamma * w * (dot(e[i], e[j]) - 1 + m) for w, j in zip(ap, b.pos[i])])]))
    return out


def generalized_lifted(b, e, p, o):
    m = o.get("margin", 1)
    return [hinge(lse([dist(e[i], e[j]) for j in b.pos[i]]) + lse([m - dist(e[i], e[j]) for j in b.neg[i]]))
            for i in range(b.n) if b.pos[i] and b.neg[i]]


def lifted(b, e, p, o):
    m, out = o.get("margin", 1), []
    for i in range(b.n):
        for j in b.pos[i]:
            away = [m - dist(e[i], e[n]) for n in b.neg[i]] + [m - dist(e[j], e[n]) for n in b.neg[j]]
            if away:
                out.append(hinge(lse(away) + dist(e[i], e[j])) ** 2 / 2)
    return out


def angular(b, e, p, o):
    t = np.tan(np.radians(o.get("degrees", 40))) ** 2
    return [lse([0] + [4 * t * dot(e[i] + e[j], e[n]) - 2 * (1 + t) * dot(e[i], e[j]) for n in b.neg[i]])
            for i in range(b.n) if b.neg[i] for j in b.pos[i]]


def fastap(b, e, p, o):
    bins = o.get("bins", 10)
    width, out = 4 / bins, []

    def kernel(d, at):
        away = d - at
        return hinge(1 - (away if re(np.asarray(away)) > 0 else -away) / width)

    for i in range(b.n):
        if not b.pos[i]:
            continue
        got = own = everything = 0.0
        for k in range(bins + 1):
            hp = sum(kernel(d2(e[i], e[j]), k * width) for j in b.pos[i])
            h = hp + sum(kernel(d2(e[i], e[j]), k * width) for j in b.neg[i])
            own, everything = own + hp, everything + h
            if abs(everything) > 0:
                got += hp * own / everything
        out.append(hinge(1 - got / len(b.pos[i])))
    return out


def ranked_list(b, e, p, o):
    alpha, m, share = o.get("alpha", 1.2), o.get("margin", 0.4), o.get("imbalance", 0.5)

    def mean(i, others, t, over):  # the weights are constants in the gradient
        at = [(np.exp(t * over(dist(b.base[i], b.base[j]))), over(dist(e[i], e[j]))) for j in others
              if over(dist(b.base[i], b.base[j])) > 0]
        return sum(w * v for w, v in at) / sum(w for w, _ in at) if at else 0.0

    return [(1 - share) * mean(i, b.pos[i], o.get("pos_weight", 0), lambda d: d - alpha + m)
            + share * mean(i, b.neg[i], o.get("neg_weight", 10), lambda d: alpha - d)
            for i in range(b.n) if b.pos[i] or b.neg[i]]


def eased(s, slack):
    """cos(arccos(s) + slack)"""
    return s * np.cos(slack) - np.sqrt(1 - s ** 2) * np.sin(slack)


def tuplet_margin(b, e, p, o):
    s, slack = o.get("scale", 64), o.get("slack", 0.1)
    return [lse([0] + [s * (dot(e[i], e[n]) - eased(dot(e[i], e[j]), -slack)) for n in b.neg[i]])
            for i in range(b.n) if b.neg[i] for j in b.pos[i]]


def intra_pair_variance(b, e, p, o):
    ap = [dot(e[i], e[j]) for i, j, own in b.pairs() if own]
    an = [dot(e[i], e[j]) for i, j, own in b.pairs() if not own]
    mp, mn = sum(ap) / max(len(ap), 1), sum(an) / max(len(an), 1)
    return ([hinge((1 - o.get("pos_epsilon", 0.01)) * mp - s) ** 2 / len(ap) for s in ap]
            + [hinge(s - (1 + o.get("neg_epsilon", 0.01)) * mn) ** 2 / len(an) for s in an])


def snr_contrastive(b, e, p, o):
    def var(v):
        return ((v - v.mean()) ** 2).mean()
    out = []
    for i, j, own in b.pairs():
        if abs(var(e[i])) > 0:
            d = var(e[i] - e[j]) / var(e[i])
            out.append(d if own else hinge(o.get("margin", 1) - d))
    return out


def proxynca(b, e, p, o):
    q, s = unit(p), o.get("scale", 3)
    return [d2(s * e[i], s * q[y]) + lse([-d2(s * e[i], s * q[z]) for z in range(len(q)) if z != y])
            for i, y in enumerate(b.labels)]


def proxy_anchor(b, e, p, o):
    q, alpha, delta = unit(p), o.get("alpha", 32), o.get("delta", 0.1)
    present = len(set(b.labels))
    out = []
    for c in range(len(q)):
        own = [-alpha * (dot(e[i], q[c]) - delta) for i, y in enumerate(b.labels) if y == c]
        other = [alpha * (dot(e[i], q[c]) + delta) for i, y in enumerate(b.labels) if y != c]
        # Reduced by the mean over all proxies, positives count over those that have some.
        out.append(lse([0] + own) * len(q) / present + lse([0] + other))
    return out


def softtriple(b, e, p, o):
    q, la, gamma, delta, k = unit(p), o.get("la", 20), o.get("gamma", 0.1), o.get("delta", 0.01), o["centers"]
    out = []
    for i, y in enumerate(b.labels):
        s = []
        for c in range(len(q) // k):
            to = [dot(e[i], q[c * k + j]) for j in range(k)]
            total = lse([v / gamma for v in to])
            s.append(sum(np.exp(v / gamma - total) * v for v in to) - (delta if c == y else 0))
        out.append(lse([la * v for v in s]) - la * s[y])
    return out


def classify(b, e, p, scale, own):
    q, out = unit(p), []
    for i, y in enumerate(b.labels):
        s = [scale * (own(dot(e[i], v)) if c == y else dot(e[i], v)) for c, v in enumerate(q)]
        out.append(lse(s) - s[y])
    return out


def normsoftmax(b, e, p, o):
    return classify(b, e, p, 1 / o.get("temperature", 0.05), lambda s: s)


def cosface(b, e, p, o):
    return classify(b, e, p, o.get("scale", 64), lambda s: s - o.get("margin", 0.35))


def widened(s, m):
    """eased, but falling on beyond an angle of pi"""
    return s - m * np.sin(m) if np.arccos(re(s)) + m > np.pi else eased(s, m)


def arcface(b, e, p, o):
    return classify(b, e, p, o.get("scale", 64), lambda s: widened(s, o.get("margin", 0.5)))


def subcenter_arcface(b, e, p, o):
    q, scale, k, out = unit(p), o.get("scale", 64), o["centers"], []
    for i, y in enumerate(b.labels):
        best = [max((dot(e[i], q[c * k + j]) for j in range(k)), key=re) for c in range(len(q) // k)]
        s = [scale * (widened(v, o.get("margin", 0.5)) if c == y else v) for c, v in enumerate(best)]
        out.append(lse(s) - s[y])
    return out


def curricularface(b, e, p, o):
    q, scale, m, out = unit(p), o.get("scale", 64), o.get("margin", 0.5), []
    # The first batch: t was 0. It is a constant in the gradient.
    t = o.get("momentum", 0.01) * sum(re(dot(e[i], q[y])) for i, y in enumerate(b.labels)) / b.n
    for i, y in enumerate(b.labels):
        own = dot(e[i], q[y])
        bound = np.cos(np.arccos(re(own)) + m)
        to = [dot(e[i], v) for v in q]
        s = [scale * (widened(v, m) if c == y else v * (t + v) if re(v) > bound else v) for c, v in enumerate(to)]
        out.append(lse(s) - s[y])
    return out


def soft_step(x, t):
    """1 / (1 + exp(-x/t)), which overflows nowhere"""
    z = x / t
    return 1 / (1 + np.exp(-z)) if re(z) > 0 else np.exp(z) / (1 + np.exp(z))


def smooth_ap(b, e, p, o):
    t, out = o.get("temperature", 0.01), []
    for i in range(b.n):
        if not b.pos[i]:
            continue
        s = {j: dot(e[i], e[j]) for j in b.pos[i] + b.neg[i]}
        precision = 0.0
        for j in b.pos[i]:
            own = 1 + sum(soft_step(s[k] - s[j], t) for k in b.pos[i] if k != j)
            precision += own / (own + sum(soft_step(s[k] - s[j], t) for k in b.neg[i]))
        out.append(hinge(1 - precision / len(b.pos[i])))
    return out


def recall_at_k(b, e, p, o):
    t, soft, out = o.get("temperature", 0.01), o.get("rank_temperature", 1), []
    ks = [k for k in (1, 2, 4, 8, 16, 32) if k <= o.get("k", 16)]
    for i in range(b.n):
        if not b.pos[i]:
            continue
        s = {j: dot(e[i], e[j]) for j in b.pos[i] + b.neg[i]}
        ranks = [1 + sum(soft_step(s[k] - s[j], t) for k in s if k != j) for j in b.pos[i]]
        recall = 0.0
        for k in ks:
            hits = sum(soft_step(k - r, soft) for r in ranks)
            recall += (hits if re(hits) < k else k) / min(k, len(ranks))
        out.append(hinge(1 - recall / len(ks)))
    return out


def histogram(b, e, p, o):
    bins = o.get("bins", 100)
    width = 2 / bins
    pos = [dot(e[i], e[j]) for i, j, own in b.pairs() if own]
    neg = [dot(e[i], e[j]) for i, j, own in b.pairs() if not own]

    def share(s, node):  # of a pair at a node
        away = s - (node * width - 1)
        return hinge(1 - (away if re(away) > 0 else -away) / width)

    below, total = [], 0.0
    for node in range(bins + 1):
        total = total + sum(share(s, node) for s in pos) / max(len(pos), 1)
        below.append(total)
    return [sum(share(s, node) * below[node] for node in range(bins + 1)) for s in neg]


def spread(b, e, p, o):
    return ratios(b, e, 1 / o.get("temperature", 0.1))


def vicreg(b, e, p, o):
    return [o.get("lambda", 25) * d2(e[i], e[j]) for i, j, own in b.pairs() if own]


def vicreg_whole(e, o):
    """What is added to the reduced terms."""
    n, d = e.shape
    if n < 2:
        return 0.0
    c = e - e.mean(axis=0)
    c = c.T @ c / (n - 1)
    away = sum(c[i, j] ** 2 for i in range(d) for j in range(d) if i != j)
    flat = sum(hinge(o.get("gamma", 1) - np.sqrt(c[i, i] + 1e-4)) for i in range(d))
    return (o.get("mu", 25) * flat + o.get("nu", 1) * away) / d


def decorrelate(b, e, p, o):
    return []  # no terms of pairs


def part_lengths(d, o):
    if "parts" not in o:
        return [d - d // 2, d // 2]
    return [n * d // sum(o["parts"]) for n in o["parts"]]


def layer_shapes(d, o):
    """Of the two layers that predict the first part from each further one: w1, b1, w2, b2."""
    first, *rest = part_lengths(d, o)
    return [s for n in rest if n for s in [(o["hidden"], n), (o["hidden"],), (first, o["hidden"]), (first,)]]


def decorrelate_whole(e, p, o):
    """What is added to the terms. p holds the layers one after the other."""
    ends = np.cumsum(part_lengths(e.shape[1], o))
    first, *rest = [part for part in np.split(e, ends[:-1], axis=1) if part.shape[1]]
    layers, at = [], 0
    for shape in layer_shapes(e.shape[1], o):
        layers.append(p[at:at + np.prod(shape)].reshape(shape))
        at += np.prod(shape)
    total = 0.0
    for k, part in enumerate(rest):
        w1, b1, w2, b2 = layers[4 * k:4 * k + 4]
        for a, x in zip(unit(first), unit(part)):
            guess = w2 @ np.array([hinge(h) for h in w1 @ x + b1]) + b2
            total = total + ((a * guess) ** 2).sum() / (guess ** 2).sum() / len(e)
    return total


def dynamic_soft_margin(b, e, p, o):
    bins = o.get("bins", 512)
    width = 4 / (bins - 1)

    def at(rows, i, j, k):
        return dist(rows[i], rows[j]) - dist(rows[i], rows[k])

    # The first batch is all that is known; the weights are constants in the gradient.
    seen, tuples = np.zeros(bins), [(i, j, k) for i in range(b.n) for j in b.pos[i] for k in b.neg[i]]
    for i, j, k in tuples:
        x = min(max((re(np.asarray(at(b.base, i, j, k))) + 2) / width, 0), bins - 1)
        low = min(int(x), bins - 2)
        seen[low] += 1 - (x - low)
        seen[low + 1] += x - low
    share = np.cumsum(seen) / max(len(tuples), 1)
    nodes = np.arange(bins) * width - 2
    return [np.interp(re(np.asarray(at(b.base, i, j, k))), nodes, share) * at(e, i, j, k) for i, j, k in tuples]


PROXIES = {"proxynca": 1, "proxy-anchor": 1, "softtriple": 3, "normsoftmax": 1, "cosface": 1, "arcface": 1,
           "subcenter-arcface": 3, "curricularface": 1}

# Every loss with the reduction that its paper has; None: the terms sum to the loss.
LOSSES = {
    "triplet": (triplet, "mean"), "soft-triplet": (soft_triplet, "mean"), "contrastive": (contrastive, "mean"),
    "margin": (margin, "mean-active"), "multisimilarity": (multisimilarity, "mean"), "nca": (nca, "mean"),
    "nca2": (nca2, "mean"), "npair": (npair, "mean"), "ntxent": (ntxent, "mean"), "supcon": (supcon, "mean"),
    "circle": (circle, "mean"), "lifted": (lifted, "mean"), "generalized-lifted": (generalized_lifted, "mean"),
    "angular": (angular, "mean"), "fastap": (fastap, "mean"), "ranked-list": (ranked_list, "mean"),
    "tuplet-margin": (tuplet_margin, "mean"), "intra-pair-variance": (intra_pair_variance, "sum"),
    "snr-contrastive": (snr_contrastive, "mean"), "proxynca": (proxynca, "mean"), "proxy-anchor": (proxy_anchor, "mean"),
    "softtriple": (softtriple, "mean"), "normsoftmax": (normsoftmax, "mean"), "cosface": (cosface, "mean"),
    "arcface": (arcface, "mean"), "smooth-ap": (smooth_ap, "mean"), "recall-at-k": (recall_at_k, "mean"),
    "spread": (spread, "mean"), "vicreg": (vicreg, "mean"), "histogram": (histogram, "mean"), "dynamic-soft-margin": (dynamic_soft_margin, "mean"),
    "subcenter-arcface": (subcenter_arcface, "mean"), "curricularface": (curricularface, "mean"),
    "decorrelate": (decorrelate, "mean"), "maskcon": (maskcon, "mean"),
}

UNIT = {"normalize": True}
CONFIGS = [
    dict(loss="triplet", positives="easy", negatives="hard", margin=0.15, **UNIT),
    dict(loss="triplet", positives="easy", negatives="semihard", **UNIT),
    dict(loss="triplet", positives="hard", negatives="hard", distance="euclidean", margin=0.3),
    dict(loss="triplet", positives="easy", negatives="easy", reduce="sum", margin=2.5),
    dict(loss="triplet", positives="all", negatives="all", reduce="mean-active", **UNIT),
    dict(loss="triplet", positives="all", negatives="semihard", distance="euclidean", **UNIT),
    dict(loss="triplet", positives="semihard", negatives="hard", **UNIT),
    dict(loss="triplet", positives="semihard", negatives="easy", reduce="sum", margin=2.5),
    dict(loss="triplet", positives="semihard", negatives="all", distance="euclidean", margin=1.1, **UNIT),
    dict(loss="triplet", positives="semihard", negatives="ms", epsilon=0.4, margin=1.1, **UNIT),
    dict(loss="triplet", positives="semihard", negatives="hard", positives_from=0.6, negatives_from=0.9, **UNIT),
    dict(loss="triplet", positives="semihard", negatives="easy", positives_to=1.2, negatives_to=1.6, margin=1.1, **UNIT),
    dict(loss="triplet", positives="hard", negatives="hard", positives_from=0.3, positives_to=1.3, negatives_from=0.7,
         margin=0.9, **UNIT),
    dict(loss="triplet", positives="easy", negatives="semihard", positives_from=0.5, negatives_to=1.45, **UNIT),
    dict(loss="triplet", positives="all", negatives="all", positives_to=3, negatives_from=1.5, negatives_to=4),
    dict(loss="soft-triplet", positives="easy", negatives="hard", **UNIT),
    dict(loss="soft-triplet", positives="all", negatives="hard", distance="squared", **UNIT),
    dict(loss="contrastive", positives="all", negatives="all", margin=0.9, **UNIT),
    dict(loss="contrastive", positives="easy", negatives="hard", distance="squared"),
    dict(loss="contrastive", positives="semihard", negatives="hard", margin=0.9, **UNIT),
    dict(loss="contrastive", positives="all", negatives="all", positives_from=0.7, negatives_to=1.2, margin=1.5, **UNIT),
    dict(loss="margin", positives="all", negatives="all", **UNIT),
    dict(loss="margin", positives="easy", negatives="hard", margin=0.4, reduce="mean", **UNIT),
    dict(loss="multisimilarity", positives="ms", negatives="ms", **UNIT),
    dict(loss="multisimilarity", positives="easy", negatives="ms", alpha=3, beta=20, **{"lambda": 0.8}, **UNIT),
    dict(loss="nca", positives="easy", negatives="hard", **UNIT),
    dict(loss="nca", positives="hard", negatives="all"),
    dict(loss="nca2", positives="easy", negatives="hard", **UNIT),
    dict(loss="nca2", positives="easy", negatives="semihard", **UNIT),
    dict(loss="npair", positives="all", negatives="all", **UNIT),
    dict(loss="npair", positives="easy", negatives="all", **UNIT),
    dict(loss="npair", positives="semihard", negatives="all", **UNIT),
    dict(loss="multisimilarity", positives="ms", negatives="ms", positives_from=0.4, negatives_to=1.5, **UNIT),
    dict(loss="ntxent", positives="all", negatives="all", temperature=0.2, **UNIT),
    dict(loss="supcon", positives="all", negatives="all", **UNIT),
    dict(loss="circle", positives="all", negatives="all", gamma=32, **UNIT),
    dict(loss="lifted", positives="all", negatives="all", **UNIT),
    dict(loss="generalized-lifted", positives="all", negatives="all", **UNIT),
    dict(loss="angular", positives="all", negatives="all", **UNIT),
    dict(loss="fastap", positives="all", negatives="all", **UNIT),
    dict(loss="ranked-list", positives="all", negatives="all", pos_weight=2, **UNIT),
    dict(loss="tuplet-margin", positives="all", negatives="all", scale=16, **UNIT),
    dict(loss="intra-pair-variance", positives="all", negatives="all", **UNIT),
    dict(loss="snr-contrastive", positives="all", negatives="all"),
    dict(loss="proxynca", **UNIT), dict(loss="proxy-anchor", alpha=16, **UNIT),
    dict(loss="softtriple", centers=3, **UNIT), dict(loss="normsoftmax", **UNIT),
    dict(loss="cosface", scale=16, **UNIT), dict(loss="arcface", scale=16, **UNIT),
    dict(loss="smooth-ap", positives="all", negatives="all", temperature=0.05, **UNIT),
    dict(loss="recall-at-k", positives="all", negatives="all", temperature=0.05, k=4, **UNIT),
    dict(loss="histogram", positives="all", negatives="all", bins=20, **UNIT),
    dict(loss="dynamic-soft-margin", positives="easy", negatives="hard", bins=33, **UNIT),
    dict(loss="dynamic-soft-margin", positives="all", negatives="all", **UNIT),
    dict(loss="subcenter-arcface", scale=16, centers=3, **UNIT),
    dict(loss="curricularface", scale=16, momentum=0.4, **UNIT),
    dict(loss="spread", positives="all", negatives="all", temperature=0.3, **UNIT),
    dict(loss="spread", positives="easy", negatives="hard", temperature=1.5),
    dict(loss="vicreg", positives="all", negatives="all", gamma=0.7),
    dict(loss="vicreg", positives="easy", negatives="all", gamma=0.4, nu=30, **UNIT),
    dict(loss="decorrelate", hidden=5), dict(loss="decorrelate", hidden=2, **UNIT),
    dict(loss="decorrelate", hidden=17, parts=[2, 1]), dict(loss="decorrelate", hidden=3, parts=[2, 3], **UNIT),
    dict(loss="decorrelate", hidden=6, parts=[1, 1, 1], **UNIT), dict(loss="decorrelate", hidden=4, parts=[2, 1, 1]),
    dict(loss="decorrelate", hidden=9, parts=[4, 2, 1]), dict(loss="decorrelate", hidden=7, parts=[3, 1, 13], **UNIT),
    dict(loss="maskcon", positives="all", negatives="all", **UNIT),
    dict(loss="maskcon", positives="all", negatives="all", temperature=0.3, soft=0.2, reduce="sum", **UNIT),
    dict(loss="maskcon", positives="easy", negatives="hard", temperature=1.5),
    dict(loss="maskcon", positives="all", negatives="all", temperature=2, soft=3),
]

# Where a definition has no derivative: angles at 0 or pi.
UNDEFINED = {
    "tuplet-margin": {"duplicates", "far_and_near", "identities"},
    "snr-contrastive": {"one_dimension"},  # the variance of one number
}


def reduced(terms, how):
    if not terms:
        return 0.0
    if how == "sum":
        return sum(terms)
    active = sum(1 for t in terms if re(np.asarray(t)) != 0)
    return sum(terms) / (len(terms) if how == "mean" else max(active, 1))


def derivative(f, x):
    """The gradient of f at x, by complex steps."""
    g, z = np.zeros(x.shape), x.astype(complex)
    for at in np.ndindex(*x.shape):
        z[at] += 1j * STEP
        g[at] = np.asarray(f(z)).imag / STEP
        z[at] = x[at]
    return g


def rounded(x, digits=10):
    return [float(("%%.%dg" % digits) % v) for v in np.asarray(x).ravel()]


def learned(name, config, b, rng):
    """The parameters of a loss that has some: proxies, a beta for each class, or layers."""
    if name == "decorrelate":
        return single(rng.randn(sum(int(np.prod(s)) for s in layer_shapes(b["x"].shape[1], config))))
    classes = max(b["labels"]) + 1
    if name in PROXIES:
        return single(rng.randn((classes + 1) * PROXIES[name], b["x"].shape[1]))  # one class is not in the batch
    if name == "margin":
        return single(1.2 + 0.3 * rng.randn(classes, 1))
    return None


def loss_cases(all_batches):
    rng, out = np.random.RandomState(7), []
    for config in CONFIGS:
        name = config["loss"]
        f, how = LOSSES[name]
        how = config.get("reduce", how)
        for bname, b in all_batches.items():
            if bname in UNDEFINED.get(name, ()):
                continue
            if bname == "one_dimension" and config.get("normalize"):
                continue  # rows become 1 or -1: every gradient is 0, in single precision up to rounding
            labels = b["labels"]
            if name in PROXIES or name == "margin":
                if min(labels) < 0 or max(labels) > 100:
                    continue  # classes are numbered from 0
            if name == "spread" and "ids" not in b or name not in ("spread", "maskcon") and bname == "views":
                continue
            if name == "decorrelate" and (b["x"].shape[1] % sum(config.get("parts", [1]))
                                          or part_lengths(b["x"].shape[1], config)[0] < 2):
                continue  # one number is 1 or -1: every gradient is 0, in single precision up to rounding
            params = learned(name, config, b, rng)
            t = Batch(b["x"], labels, b.get("ids"), config.get("normalize", False),
                      config.get("positives", "all"), config.get("negatives", "all"), config.get("epsilon", 0.1),
                      loss=name,
                      ranges=[(config.get(side + "_from", 0), config.get(side + "_to", float("inf")))
                              for side in ("positives", "negatives")])

            def value(x, p):
                v = reduced(f(t, t.rows(x), p, config), how)
                if name == "decorrelate":
                    return decorrelate_whole(t.rows(x), p, config)
                return v + vicreg_whole(t.rows(x), config) if name == "vicreg" else v

            case = {"config": config, "batch": bname, "value": rounded(value(b["x"], params))[0],
                    "terms": len(f(t, t.rows(b["x"]), params, config)),
                    "grad": rounded(derivative(lambda x: value(x, params), b["x"]))}
            if params is not None:
                case["params"] = rounded(params, 9)
                up = -1 if name == "decorrelate" else 1  # its layers go up the gradient
                case["param_grad"] = rounded(up * derivative(lambda p: value(b["x"], p), params))
            out.append(case)
    return out


# ---------------------------------------------------------------- retrieval

def nearness(x, y, how):
    """The larger, the nearer; sums are exact, so equal rows are equally near."""
    inner = fsum(a * b for a, b in zip(x, y))
    if how == "dot":
        return inner
    if how == "cosine":
        n = sqrt(fsum(a * a for a in x)) * sqrt(fsum(a * a for a in y))
        return inner / n if n > 0 else 0.0
    return -fsum((a - b) ** 2 for a, b in zip(x, y))


METRICS = ["recall@1", "recall@2", "recall@5", "precision@3", "map@r", "r-precision", "map", "map@4", "mrr", "ndcg", "ndcg@3"]


def query_metrics(hits, r):
    """hits: for the whole ranking, whether each item is a positive."""
    n = len(hits)
    precision = [sum(hits[:k + 1]) / (k + 1) for k in range(n)]
    gain = [1 / np.log2(k + 2) for k in range(n)]

    def ap(k, over):
        return sum(precision[i] for i in range(min(k, n)) if hits[i]) / over

    def ndcg(k):
        return sum(g for g, h in zip(gain[:k], hits[:k]) if h) / sum(gain[:min(k, r)])

    return {
        "recall@1": float(any(hits[:1])), "recall@2": float(any(hits[:2])), "recall@5": float(any(hits[:5])),
        "precision@3": sum(hits[:3]) / 3, "map@r": ap(r, r), "r-precision": sum(hits[:r]) / r, "map": ap(n, r),
        "map@4": ap(4, min(4, r)), "mrr": 1 / (hits.index(True) + 1), "ndcg": ndcg(n), "ndcg@3": ndcg(3),
    }


def retrieval_case(name, how, x, labels, gx=None, gl=None):
    own = gx is None
    g, gallery_labels = (x, labels) if own else (gx, gl)
    sums, queries, excluded = dict.fromkeys(METRICS, 0.0), 0, 0
    for i, row in enumerate(x):
        order = [j for j in range(len(g)) if not (own and j == i)]
        order.sort(key=lambda j: (-nearness(row, g[j], how), j))
        hits = [gallery_labels[j] == labels[i] for j in order]
        if not any(hits):
            excluded += 1
            continue
        queries += 1
        for k, v in query_metrics(hits, sum(hits)).items():
            sums[k] += v
    out = {"name": name, "distance": how, "dim": len(x[0]), "x": rounded(x, 9), "labels": list(labels),
           "queries": queries, "excluded": excluded, "metrics": {k: rounded(v / queries, 15)[0] for k, v in sums.items()}}
    if not own:
        out["gallery"], out["gallery_labels"] = rounded(gx, 9), list(gl)
    return out


def retrieval_cases():
    rng = np.random.RandomState(11)
    out = []
    for how in ("euclidean", "cosine", "dot"):
        labels = [int(v) for v in rng.randint(0, 6, 45)] + [90, 91]  # two singletons
        x = single(rng.randn(47, 5) + 0.7 * np.array([[y % 3, y % 2, 0, 0, 0] for y in labels]))
        out.append(retrieval_case("plain", how, x, labels))
        grid = single(rng.randint(-1, 2, (30, 3)))  # ties without end, rows of zeros
        labels = [int(v) for v in rng.randint(0, 5, 30)]
        out.append(retrieval_case("ties", how, grid, labels))
        big = [2**53 + int(v) for v in rng.randint(0, 4, 21)]
        big[4] = -big[4]
        out.append(retrieval_case("large labels", how, single(rng.randn(21, 17)), big))
        gl = [int(v) for v in rng.randint(1, 8, 33)]
        x, gx = single(rng.randn(14, 4)), single(rng.randn(33, 4))
        gx[5], gx[6] = x[2], x[2]
        out.append(retrieval_case("gallery", how, x, [int(v) for v in rng.randint(0, 8, 14)], gx, gl))
    one = single(rng.randn(4, 2))
    out.append(retrieval_case("pairs", "euclidean", one, [1, 2, 2, 1]))
    out.append(retrieval_case("one class", "euclidean", one, [1, 1, 1, 1]))
    out.append(retrieval_case("all equal", "euclidean", np.ones((5, 2)), [1, 2, 1, 2, 1]))
    shifted = single(rng.randn(16, 3) * 1e-3 + 1000)  # far from the origin, near each other
    out.append(retrieval_case("far from the origin", "euclidean", shifted, [i % 4 for i in range(16)]))
    return out


# ---------------------------------------------------------------- clusterings

def entropy(sizes, n):
    return -fsum(s / n * log(s / n) for s in sizes)


def clustering_case(name, classes, clusters):
    n = len(classes)
    ca, cb = sorted(set(classes)), sorted(set(clusters))
    a = [classes.count(y) for y in ca]
    b = [clusters.count(y) for y in cb]
    joint = {(u, v): sum(1 for p, q in zip(classes, clusters) if (p, q) == (u, v)) for u in ca for v in cb}
    mi = fsum(k / n * log(k * n / (classes.count(u) * clusters.count(v))) for (u, v), k in joint.items() if k)
    ha, hb = entropy(a, n), entropy(b, n)
    # E[MI] with exact hypergeometric probabilities.
    expected = fsum(
        float(Fraction(comb(s, k) * comb(n - s, t - k), comb(n, t))) * k / n * log(n * k / (s * t))
        for s in a for t in b for k in range(max(1, s + t - n), min(s, t) + 1))
    equal = len(a) == len(b) == sum(1 for k in joint.values() if k)
    trivial = len(a) == 1 and len(b) == 1

    def nmi(mean):
        return 1.0 if trivial else 0.0 if mi < 1e-15 else mi / mean

    def ami(mean):
        if abs(mi - expected) < 1e-14:  # no more than chance, also where chance is all there is
            return 1.0 if equal else 0.0
        return 1.0 if equal else (mi - expected) / (mean - expected)

    both = same_class = same_cluster = 0
    for i in range(n):
        for j in range(i):
            c, k = classes[i] == classes[j], clusters[i] == clusters[j]
            both, same_class, same_cluster = both + (c and k), same_class + c, same_cluster + k
    pairs = n * (n - 1) // 2
    if equal:
        ari = 1.0
    else:
        chance = same_class * same_cluster / pairs
        ari = (both - chance) / ((same_class + same_cluster) / 2 - chance)
    purity = sum(max(joint[u, v] for u in ca) for v in cb) / n
    scores = {
        "nmi": nmi((ha + hb) / 2), "nmi-geometric": nmi(sqrt(ha * hb)), "ami": ami((ha + hb) / 2),
        "ami-geometric": ami(sqrt(ha * hb)), "ari": ari, "purity": purity,
        "f1": 2 * both / (same_class + same_cluster) if both else 0.0,
        "homogeneity": mi / ha if ha > 0 else 1.0, "completeness": mi / hb if hb > 0 else 1.0,
    }
    return {"name": name, "classes": classes, "clusters": clusters, "scores": {k: rounded(v, 15)[0] for k, v in scores.items()}}


def clustering_cases():
    rng = np.random.RandomState(5)

    def draw(k, n):
        return [int(v) for v in rng.randint(0, k, n)]

    labels = draw(5, 60)
    near = [y if rng.rand() < 0.7 else int(rng.randint(0, 7)) for y in labels]
    out = [
        clustering_case("unrelated", draw(4, 50), draw(6, 50)), clustering_case("related", labels, near),
        clustering_case("equal but for names", labels, [-3 * y for y in labels]),
        clustering_case("one cluster", draw(3, 20), [0] * 20), clustering_case("one class", [1] * 20, draw(3, 20)),
        clustering_case("one of each", [1] * 9, [4] * 9), clustering_case("single items", list(range(8)), list(range(8))),
        clustering_case("clusters of one", draw(3, 12), list(range(12))), clustering_case("one item", [3], [8]),
        clustering_case("two items", [3, 4], [8, 8]), clustering_case("independent", [0, 0, 1, 1] * 3, [0, 1] * 6),
        clustering_case("large labels", [2**53 + y for y in labels], near),
        clustering_case("uneven", [0] * 30 + [1] * 2 + [2], [0] * 25 + [1] * 6 + [2] * 2),
    ]
    return out


def main():
    all_batches = batches()
    doc = {
        "batches": {k: {"dim": int(b["x"].shape[1]), "x": rounded(b["x"], 9), "labels": b["labels"],
                        **({"ids": b["ids"]} if "ids" in b else {})} for k, b in all_batches.items()},
        "losses": loss_cases(all_batches), "retrieval": retrieval_cases(), "clustering": clustering_cases(),
    }
    text = json.dumps(doc, separators=(",", ":")).encode()
    with open("cases.json.gz", "wb") as f:
        f.write(gzip.compress(text, 9, mtime=0))
    print(len(doc["losses"]), "losses,", len(doc["retrieval"]), "rankings,", len(doc["clustering"]), "clusterings")


if __name__ == "__main__":
    main()
