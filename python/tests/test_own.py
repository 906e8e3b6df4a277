"""Losses and miners in Python."""

import json
import os
import struct
import subprocess

import numpy as np
import pytest

import kindred_ml
from conftest import SMALL

MINED = {**SMALL, "loss.name": "triplet", "loss.margin": 0.3}


def contrastive(embeddings, labels):
    """Half the squared distance of a class, and half the squared lack of distance to others below 1."""
    gradient, value, n = np.zeros_like(embeddings, dtype=np.float64), 0.0, len(labels)
    for i in range(n):
        difference = embeddings[i].astype(np.float64) - embeddings
        distance = np.sqrt((difference ** 2).sum(1)) + 1e-12
        same = labels == labels[i]
        lack = np.where(same, 0, np.maximum(0, 1 - distance))
        value += (np.where(same, distance ** 2, 0).sum() + (lack ** 2).sum()) / 2 / n ** 2
        step = np.where(same, 1, -lack / distance)[:, None] * difference / n ** 2
        gradient[i] += step.sum(0)
        gradient -= step
    return value, gradient


def all_triplets(embeddings, labels):
    n = len(labels)
    return [(a, p, m) for a in range(n) for p in range(n) for m in range(n)
            if a != p and labels[a] == labels[p] != labels[m]]


def first_triplets(embeddings, labels):
    return np.array(all_triplets(embeddings, labels)[:5])


def weights(embedder):
    with open(os.path.join(embedder.run_, "model.safetensors"), "rb") as file:
        return file.read()


def test_a_loss_of_ones_own(kindred, paths, labels, tmp_path):
    seen = []

    def loss(embeddings, labels):
        seen.append((embeddings.copy(), labels.copy()))
        return contrastive(embeddings, labels)

    embedders = [kindred_ml.Embedder(set={**SMALL, "train.epochs": 3}, folder=tmp_path / name, loss=loss,
                                     progress=False).fit(paths, labels) for name in "ab"]
    assert weights(embedders[0]) == weights(embedders[1])
    assert embedders[0].training_["loss"] == embedders[1].training_["loss"] > 0
    assert all(e.dtype == np.float32 and y.dtype == np.int64 and e.shape[0] == len(y) for e, y in seen)
    assert np.allclose([(e ** 2).sum(1) for e, _ in seen], 1, atol=1e-3)
    assert len(set(np.concatenate([y for _, y in seen]))) == 4
    means = [contrastive(e, y)[0] for e, y in seen]
    assert len(seen) == 6 and means[2] < means[0] / 2  # it learns
    assert embedders[0].transform(paths[:2]).shape[0] == 2
    with open(tmp_path / "a" / "run" / "own.json", encoding="utf-8") as file:
        kept = json.load(file)
    assert kept["kind"] == "loss" and kept["name"].endswith("loss") and len(kept["digest"]) == 64


def test_a_miner_of_ones_own(kindred, paths, labels, tmp_path):
    """All triplets by a miner give the bits of the policies that choose all."""
    def trained(name, **more):
        return kindred_ml.Embedder(folder=tmp_path / name, progress=False, **more).fit(paths, labels)

    own = trained("own", set=MINED, miner=all_triplets)
    named = trained("named", set={**MINED, "mine.positives": "all", "mine.negatives": "all"})
    few = trained("few", set=MINED, miner=first_triplets)
    assert weights(own) == weights(named) != weights(few)
    trained("none", set=MINED, miner=lambda e, y: [])


def test_an_error_in_python_ends_the_run(kindred, paths, labels, tmp_path):
    def fit(loss=None, miner=None):
        kindred_ml.Embedder(set=MINED if miner else SMALL, folder=tmp_path, force=True, loss=loss, miner=miner,
                            progress=False).fit(paths, labels)

    def broken(embeddings, labels):
        raise LookupError("no such thing: é")

    with pytest.raises(kindred_ml.KindredError, match="(?s)the loss .*broken failed:.*Traceback.*in broken.*thing: é") as caught:
        fit(broken)
    assert isinstance(caught.value.__cause__, LookupError)
    for loss, words in [(lambda e, y: 1.0, "must return a number and its gradient"),
                        (lambda e, y: (1.0, e[:1]), "a gradient of shape"),
                        (lambda e, y: (float("nan"), e), "all must be finite"),
                        (lambda e, y: (1.0, e * float("inf")), "all must be finite")]:
        with pytest.raises(kindred_ml.KindredError, match=words):
            fit(loss)
    for miner, words in [(lambda e, y: [(0, 1)], r"of shape \(1, 2\)"), (lambda e, y: [(0.0, 1.0, 2.0)], "of integers"),
                         (lambda e, y: [(0, 1, len(y))], "the batch has rows 0 to"),
                         (lambda e, y: [(0, 0, 1)], "the same sample")]:
        with pytest.raises(kindred_ml.KindredError, match=words):
            fit(miner=miner)
    with pytest.raises(ValueError, match="either a loss or a miner"):
        fit(contrastive, all_triplets)
    with pytest.raises(TypeError, match="give a function"):
        fit(1)


def test_a_run_continues_with_the_same_function_only(kindred, paths, labels, tmp_path):
    def fit(folder, epochs):
        return kindred_ml.Embedder(set={**SMALL, "train.epochs": epochs}, folder=folder, loss=contrastive,
                                   progress=False).fit(paths, labels)

    whole, part = fit(tmp_path / "whole", 2), fit(tmp_path / "part", 1)
    go_on = ["train", "--resume", part.run_, "--set", "train.epochs=2"]

    def other(embeddings, labels):
        return contrastive(embeddings, labels)

    with pytest.raises(kindred_ml.KindredError, match="was begun with the loss .*contrastive .*and cannot continue"):
        kindred_ml.run(*go_on, loss=other, progress=False)
    with pytest.raises(kindred_ml.KindredError, match="cannot continue with the miner"):
        kindred_ml.run(*go_on, miner=all_triplets, progress=False)
    with pytest.raises(kindred_ml.KindredError, match="loss.name is own"):
        kindred_ml.run(*go_on, progress=False)
    kindred_ml.run(*go_on, loss=contrastive, progress=False)
    assert weights(part) == weights(whole)
    named = kindred_ml.Embedder(set=SMALL, folder=tmp_path / "named", progress=False).fit(paths, labels)
    with pytest.raises(kindred_ml.KindredError, match="has no loss of a program's own"):
        kindred_ml.run("train", "--resume", named.run_, loss=contrastive, progress=False)


def test_answers_that_are_none(kindred, paths, labels, tmp_path):
    """What a program sends that speaks another protocol, or ends, is an error of the command and no hang."""
    named = kindred_ml.Embedder(set=SMALL, folder=tmp_path, progress=False).fit(paths, labels)
    command = [kindred, "--json", "train", "--own=loss", "--data", str(tmp_path / "manifest.csv"), "--allow-outside",
               *[f"--set={key}={value}" for key, value in SMALL.items()], "--force", "--out", str(tmp_path / "other")]

    def framed(text):
        return struct.pack("<I", len(text)) + text

    hello = framed(json.dumps({"kind": "loss", "name": "n", "digest": "d"}).encode())
    for sent, words in [(b"", "cannot be read"), (b"\xff\xff\xff\xff", "at most 65536"), (framed(b"[]"), "cannot be read"),
                        (framed(b'{"kind": "miner"}'), "kind must be"), (hello, "no longer answers: EOF"),
                        (hello + b"X", "begins with 'X'"), (hello + b"L123", "no longer answers: unexpected EOF"),
                        (hello + b"L" + b"\xff" * (8 + 4 * 128 * 4096), "is NaN in row 0"),
                        (hello + b"E" + framed(b"because"), "because")]:
        done = subprocess.run(command, input=sent, capture_output=True, timeout=60)
        assert done.returncode == 1 and words in done.stderr.decode(), (sent[:20], done.stderr.decode()[-500:])
    done = subprocess.run([kindred, "train", "--own=loss", named.run_], input=hello, capture_output=True, timeout=60)
    assert done.returncode == 2 and b"--own loss needs --json" in done.stderr
