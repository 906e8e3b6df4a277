"""What is handed to kindred: paths and labels of every kind."""

import csv
import os
import sys

import numpy as np
import pytest

import kindred_ml
from conftest import SMALL, photo
from kindred_ml import files

HOSTILE = ["a,b.png", 'quote".png', "semi;colon.png", " blanks .png", "-dash.png", "grün 写真.png", "per%cent.png",
           "a'b.png", "#hash.png", "=1+1.png"]


@pytest.fixture
def hostile(tmp_path):
    """Photos whose names have what lists and shells trip over."""
    if sys.platform == "win32":
        pytest.skip("Windows has no such names")
    for k, name in enumerate(HOSTILE + ["back\\slash.png"]):
        (tmp_path / name).write_bytes(photo(k % 4, k))
    return [str(tmp_path / name) for name in HOSTILE + ["back\\slash.png"]]


def test_names_of_every_kind_are_embedded(trained, hostile):
    X = trained.transform(hostile)
    for k, path in enumerate(hostile):
        assert np.array_equal(X[k], trained.transform([path])[0]), path
    assert len({row.tobytes() for row in X}) == len(hostile)


def test_names_of_every_kind_are_trained_on_and_found(kindred, hostile, paths, labels):
    names = ['a "b", c', "ünï"] * 6
    embedder = kindred_ml.Embedder(set=SMALL, progress=False).fit(paths + hostile, labels + names[:len(hostile)])
    assert set(embedder.classes_) == set(labels) | {'a "b", c', "ünï"}
    found = kindred_ml.search(hostile[0], run=embedder.run_, in_=hostile, neighbours=20, progress=False, as_frame=False)
    assert {n.path for n in found} == set(hostile[1:])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
@pytest.mark.parametrize("name, why", [("a\nb.png", "control character '\\\\n'"), ("a\tb.png", "control character"),
                                       (b"\xff.png", "not valid Unicode")])
def test_names_that_kindred_refuses(tmp_path, trained, name, why):
    path = os.path.join(os.fsencode(tmp_path), os.fsencode(name))
    with open(path, "wb") as file:
        file.write(photo(0, 0))
    for what in [os.fsdecode(path), path]:
        with pytest.raises((ValueError, TypeError), match=why if isinstance(what, str) else "want a str"):
            trained.transform([what])


def test_a_missing_file_is_named(trained, paths, tmp_path):
    gone = str(tmp_path / "gone.png")
    for call in [lambda: trained.transform([paths[0], gone]),
                 lambda: kindred_ml.Embedder().fit([paths[0], gone], [1, 2]),
                 lambda: kindred_ml.search(gone, run=trained.run_, in_=paths),
                 lambda: kindred_ml.search(paths[0], run=trained.run_, in_=[gone])]:
        with pytest.raises(FileNotFoundError, match="gone.png"):
            call()


def test_a_damaged_photo_is_an_error(trained, paths, tmp_path):
    (tmp_path / "bad.png").write_bytes(photo(0, 0)[:60])
    (tmp_path / "text.txt").write_text("no photo")
    with pytest.raises(kindred_ml.KindredError, match="bad.png"):
        trained.transform([paths[0], tmp_path / "bad.png"])
    with pytest.raises(kindred_ml.KindredError, match="text.txt"):
        trained.transform([paths[0], tmp_path / "text.txt"])


def test_a_photo_that_comes_twice(trained, paths):
    X = trained.transform([paths[0], paths[1], paths[0]])
    assert X.shape[0] == 3 and np.array_equal(X[0], X[2]) and not np.array_equal(X[0], X[1])


def test_labels_and_photos_of_different_numbers(kindred, paths):
    with pytest.raises(ValueError, match="32 photos and 3 labels"):
        kindred_ml.Embedder().fit(paths, [1, 2, 3])
    with pytest.raises(ValueError, match="32 photos and 2 values of split"):
        kindred_ml.Embedder().fit(paths, [1] * 32, ["train", "test"])
    with pytest.raises(ValueError, match="2 embeddings and 3 values of label"):
        kindred_ml.evaluate(np.eye(2), [1, 2, 3])
    with pytest.raises(ValueError, match="want a row for each item"):
        kindred_ml.evaluate(np.zeros(3), [1, 2, 3])


@pytest.mark.parametrize("labels, why", [
    ([1.5, 2], "missing or fractional"), ([float("nan"), 1], "missing"), (["a", None], "label 1 is missing"), (["a", " "], "empty"),
    (["a", ""], "empty"), (["a", "b "], "spaces at its ends"), (["a", "b\n"], "control character"),
    ([["a"], ["b"]], "want one for each row")])
def test_labels_that_are_refused(paths, labels, why):
    with pytest.raises(ValueError, match=why):
        kindred_ml.Embedder().fit(paths[:2], labels)


def test_labels():
    assert files.label_array([1.0, 2.0]).tolist() == [1, 2]
    assert files.label_array(np.array([3, 4], dtype=np.uint8)).dtype == np.int64
    assert files.label_array(["a", 7]).tolist() == ["a", "7"]
    assert files.label_array([True, False]).tolist() == ["True", "False"]


def test_a_manifest_comes_back(tmp_path):
    path = tmp_path / "manifest.csv"
    names = [f"/x/{name}" for name in HOSTILE]
    files.write_manifest(str(path), names, [f'"{k}",' for k in range(len(names))], ["train"] * len(names))
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["path", "label", "split"]
    assert rows[1:] == [[name, f'"{k}",', "train"] for k, name in enumerate(names)]
    assert os.listdir(tmp_path) == ["manifest.csv"]
