"""clean, discover and report, and what is said where no pretrained network is here."""

import os

import numpy as np
import pytest

import kindred_ml


@pytest.fixture(scope="module")
def clouds():
    """Two classes, the first of two kinds, with a wrong label in row 5."""
    random = np.random.default_rng(3)
    X = random.normal(size=(120, 6)).astype(np.float32)
    X[:, 0] += np.repeat([0, 40, 0, 0], 30)
    X[:, 1] += np.repeat([0, 0, 40, 40], 30)
    labels = np.repeat(["bird", "fish"], 60)
    labels[5] = "fish"
    return X, labels


def test_clean_an_array(kindred, clouds, tmp_path):
    X, labels = clouds
    found = kindred_ml.clean(X, labels, as_frame=False, progress=False)
    assert [(s.row, s.label, s.suggested) for s in found if s.suggested] == [(5, "fish", "bird")]
    assert found.attrs["document"]["labels"] == 1 and "files" not in found.attrs["document"]
    out = tmp_path / "out"
    kept = kindred_ml.clean(X, labels, out=out, apply="relabel", as_frame=False, progress=False)
    assert kept == found and {"review.html", "suspects.csv", "manifest.csv"} <= set(os.listdir(out))
    with pytest.raises(ValueError, match="give out"):
        kindred_ml.clean(X, labels, apply="drop")
    with pytest.raises(ValueError, match="clean of an array needs labels"):
        kindred_ml.clean(X)
    with pytest.raises(ValueError, match="photos are for an array"):
        kindred_ml.clean("run", photos=["a.jpg"])


def test_clean_with_photos(kindred, clouds, paths):
    image = pytest.importorskip("PIL.Image")
    X, labels = clouds[0][:32], clouds[1][:32]
    photos = [image.open(paths[k % 31]) for k in range(32)]  # the last is the first
    found = kindred_ml.clean(X, labels, photos=photos, as_frame=False, progress=False)
    copies = {s.row: s for s in found if s.reason.startswith("copy: ")}
    assert copies[31].path == "photo 31" and not [s for s in copies.values() if "/" in s.reason or ".png" in s.reason]


def test_discover_an_array(kindred, clouds):
    X, labels = clouds
    found = kindred_ml.discover(X, np.repeat(["bird", "fish"], 60), as_frame=False, progress=False)
    kinds = found.attrs["kinds"]
    assert [(k.label, k.kind, k.items) for k in found] == [("bird", "bird 1", 30), ("bird", "bird 2", 30),
                                                          ("fish", "fish", 60)]
    assert len(kinds) == 120 and len(set(kinds[:30])) == len(set(kinds[30:60])) == 1 and kinds[0] != kinds[30]
    assert found.attrs["document"]["kinds"] == 3


def test_frames(kindred, clouds):
    pytest.importorskip("pandas")
    X, labels = clouds
    suspects = kindred_ml.clean(X, labels, progress=False)
    kinds = kindred_ml.discover(X, labels, progress=False)
    assert list(suspects.columns) == ["row", "path", "label", "suggested", "score", "reason", "id"]
    assert suspects.attrs["document"]["items"] == 120
    assert list(kinds.columns) == ["label", "kind", "items", "stability", "p", "path"]
    assert "<table>" in suspects._repr_html_() and len(kinds.attrs["kinds"]) == 120


def test_report(kindred, trained, tmp_path):
    document = kindred_ml.report(trained, out=tmp_path / "page", progress=False)
    assert document["page"] == str(tmp_path / "page" / "report.html") and os.path.isfile(document["page"])
    assert document["groups"][0]["metrics"]["test_recall@1"]
    with pytest.raises(ValueError, match="folders of runs"):
        kindred_ml.report()


def test_no_network_can_be_fetched(kindred, paths, monkeypatch, tmp_path):
    monkeypatch.setenv("KINDRED_WEIGHTS", str(tmp_path))
    for call in [lambda: kindred_ml.embed(paths[0], network="resnet18", progress=False),
                 lambda: kindred_ml.search(paths[0], in_=paths, offline=True, progress=False)]:
        with pytest.raises(kindred_ml.KindredError, match="network='model.onnx' uses a file") as e:
            call()
        assert not e.value.text.split("\n")[-1].startswith("--")


def test_training_from_random_weights_is_a_warning(kindred, monkeypatch, tmp_path):
    monkeypatch.setenv("KINDRED_WEIGHTS", str(tmp_path))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # where nothing answers
    photos = np.random.default_rng(0).integers(0, 256, (32, 64, 64, 3), dtype=np.uint8)
    settings = {"train.epochs": 1, "data.size": 16}
    with pytest.warns(kindred_ml.KindredWarning, match="were not fetched: .*set=.*model.onnx.*'get', '\\w+'") as warned:
        kept = kindred_ml.Embedder(set=settings, progress=False).fit(photos, [k % 2 for k in range(32)])
    assert len(warned) == 1 and kept.metrics_
