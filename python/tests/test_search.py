"""Search, scores, indexes, decisions, and what a notebook shows."""

import base64
import json
import re
import subprocess

import numpy as np
import pytest

import kindred_ml
from conftest import SMALL, photo, png, telling
from kindred_ml import pictures
from kindred_ml.results import Neighbour, Rows


def test_search_is_kindred_search(kindred, trained, photos, paths):
    rows = kindred_ml.search(paths[:2], run=trained.run_, in_=photos, neighbours=3, as_frame=False, progress=False)
    said = json.loads(subprocess.run([kindred, "search", *paths[:2], "--run", trained.run_, "--in", str(photos),
                                      "--neighbours", "3", "--json"], check=True, capture_output=True).stdout)
    assert [(n.query, n.rank, n.path, n.label, n.distance) for n in rows] == [
        (q["query"], k + 1, n["path"], n["label"], n["distance"])
        for q in said["queries"] for k, n in enumerate(q["neighbours"])]
    assert {n.label for n in rows} == {"kind0"}


def test_search_in_a_list(trained, paths):
    rows = kindred_ml.search(paths[0], run=trained.run_, in_=paths[:4], as_frame=False, progress=False)
    assert sorted(n.path for n in rows) == paths[1:4]


def test_one_of_each_group(trained, photos, paths):
    found = kindred_ml.search(paths[0], run=trained.run_, in_=photos, group_by="label", others=2, explain=True,
                              as_frame=False, progress=False)
    assert sorted(n.label for n in found) == ["kind0", "kind1", "kind2", "kind3"]
    assert sorted(n.count for n in found) == [7, 8, 8, 8] and {len(n.others) for n in found} == {2}
    assert {n.label for n in found[0].others} == {found[0].label} and found[0].others[0].distance >= found[0].distance
    document = found.attrs["document"]
    assert document["schema"] == 2 and document["items"] == 32 and document["gallery"] == str(photos)
    assert any("group" in step for step in document["queries"][0]["explain"]["steps"])
    with pytest.raises(kindred_ml.KindredError, match="--others"):
        kindred_ml.search(paths[0], run=trained.run_, in_=photos, others=2, progress=False)


def test_answers_of_another_version(monkeypatch):
    answer = {"schema": 3, "gallery": "g", "items": 0, "distance": "dot", "queries": []}
    monkeypatch.setattr("kindred_ml.index.run_command", lambda *arguments, **options: answer)
    with pytest.raises(kindred_ml.KindredError, match="schema is 3: this kindred_ml reads 2; install"):
        kindred_ml.Index("x.index").search(ids="a")


def test_frame(trained, photos, paths):
    pd = pytest.importorskip("pandas", reason="needs pandas")
    frame = kindred_ml.search(paths[:2], run=trained.run_, in_=photos, neighbours=3, progress=False)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["query", "rank", "path", "label", "distance", "id", "row"]
    assert len(frame) == 6 and frame.distance.dtype == float
    near = frame[frame["rank"] == 1]
    assert near._repr_html_().count("data:image/png;base64,") == len(set(near["query"])) + len(near)
    assert "<img" not in frame[["rank", "label"]]._repr_html_()


def test_pictures_are_in_the_page_and_texts_are_escaped(tmp_path):
    bad = tmp_path / "<b>&.png"
    bad.write_bytes(photo(0, 0))
    html = Rows([Neighbour("a", "<script>", 0.25, str(tmp_path / "gone.png"), query=str(bad), rank=1)])._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html and "&lt;b&gt;&amp;.png" in html and "gone.png" in html
    [content] = re.findall(r"base64,([^\"]+)", html)
    assert base64.b64decode(content) == bad.read_bytes()
    assert Rows()._repr_html_() == "<p>nothing was found</p>"


def test_large_pictures_are_made_small_or_left_out(tmp_path, monkeypatch):
    noise = np.random.default_rng(0).integers(0, 256, (400, 400)).tolist()
    large = tmp_path / "large.png"
    large.write_bytes(png(400, 400, lambda x, y: noise[y][x]))
    assert large.stat().st_size > pictures.LARGEST
    text = tmp_path / "text.png"
    text.write_text("<svg onload=alert(1)>")
    assert pictures.thumbnail(str(text)) is None
    assert pictures.thumbnail(str(tmp_path)) is None
    with monkeypatch.context() as m:
        m.setitem(__import__("sys").modules, "PIL", None)
        assert pictures.thumbnail(str(large)) is None
    pytest.importorskip("PIL", reason="needs Pillow")
    small = pictures.thumbnail(str(large))
    assert small.startswith("data:image/jpeg;base64,") and len(small) < pictures.LARGEST


def test_a_page_is_bounded(monkeypatch, tmp_path):
    monkeypatch.setattr(pictures, "ROWS", 3)
    monkeypatch.setattr(pictures, "PICTURES", 2)
    for k in range(5):
        (tmp_path / f"{k}.png").write_bytes(photo(0, k))
    rows = Rows(Neighbour("a", "", 0.0, str(tmp_path / f"{k}.png"), query="q", rank=1) for k in range(5))
    html = rows._repr_html_()
    assert html.count("<img") == 1 and html.count("<tr>") == 4 and "2 more rows" in html


def test_evaluate_is_kindred_eval(kindred, tmp_path):
    random = np.random.default_rng(1)
    X, y = random.normal(size=(60, 5)).astype(np.float32), random.integers(0, 6, 60)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    said = json.loads(subprocess.run([kindred, "eval", "--embeddings", str(tmp_path / "X.npy"), "--labels",
                                      str(tmp_path / "y.npy"), "--metrics", "recall@1,map@r,nmi", "--json"],
                                     check=True, capture_output=True).stdout)
    scores = kindred_ml.evaluate(X, y)
    assert dict(scores) == said["metrics"] and scores.document == said
    assert kindred_ml.evaluate(X, [f"class {k}" for k in y], "map@r")["map@r"] == scores["map@r"]
    G, gy = random.normal(size=(20, 5)), random.integers(0, 6, 20)
    nearest = gy[np.argmin(((X[:, None].astype(np.float64) - G[None]) ** 2).sum(2), axis=1)]
    want = np.mean(nearest[np.isin(y, gy)] == y[np.isin(y, gy)])
    assert kindred_ml.evaluate(X, y, ["recall@1"], gallery=G, gallery_labels=gy)["recall@1"] == pytest.approx(want)
    assert "intervals" in kindred_ml.evaluate(X, y, ["recall@1"], bootstrap=10).document
    with pytest.raises(kindred_ml.KindredError, match="recal"):
        kindred_ml.evaluate(X, y, ["recal@1"])


def test_index_of_photos(kindred, trained, photos, paths, tmp_path):
    index = kindred_ml.Index.create(tmp_path / "photos.index", photos, run=trained.run_, progress=False)
    assert len(index) == 32 and index.info()["dim"] == 128
    [found] = index.search(paths[0], neighbours=1, as_frame=False)
    [same] = index.search(ids="kind0/0.png", neighbours=1, as_frame=False)
    assert (found.id, found.columns) == (same.id, same.columns) and telling(found.columns) == {"label": "kind0"}
    assert same.query == "kind0/0.png"
    [vector] = index.search(vectors=trained.transform([paths[0]]), neighbours=1, as_frame=False)
    assert vector.id == found.id and vector.query == "vector 0" and vector.distance > 0  # without the item itself
    assert {n.label for n in index.search(paths[0], filter='label = "kind2"', as_frame=False)} == {"kind2"}
    assert index.add(photos, prefix="more/", progress=False)["added"] == 32
    assert index.add(photos, progress=False)["skipped"] == 32
    assert index.add(photos, update=True, progress=False)["replaced"] == 32
    assert index.remove("kind0/0.png", "no such id") == 1
    assert index.remove(filter='label = "kind1"') == 16
    assert len(index) == 64 - 17
    with pytest.raises(ValueError, match="either ids or a filter"):
        index.remove()
    with pytest.raises(ValueError, match="photos, ids, vectors, text or like"):
        index.search()
    with pytest.raises(kindred_ml.KindredError):
        kindred_ml.Index(tmp_path / "nowhere").info()
    for asked in (lambda: index.search(text=["red", "blue"]),
                  lambda: kindred_ml.search(run=trained.run_, in_=photos, text="red", progress=False)):
        with pytest.raises(kindred_ml.KindredError, match="looked up as words"):
            asked()
    with pytest.raises(ValueError, match="either a photo, text or like"):
        kindred_ml.search(paths[0], text="red")


def test_sums(kindred, trained, photos, paths, tmp_path):
    index = kindred_ml.Index.create(tmp_path / "sums.index", photos=photos, run=trained.run_, distance="cosine",
                                    progress=False)
    image = np.full((16, 16), 90, dtype=np.uint8)
    for asked in (lambda **q: index.search(as_frame=False, **q),
                  lambda **q: kindred_ml.search(run=trained.run_, in_=photos, distance="cosine", progress=False,
                                                as_frame=False, **q)):
        rows = asked(like=[paths[0], paths[1]], unlike=[image], neighbours=3)
        assert len(rows) == 3 and " + " in rows[0].query and " - " in rows[0].query
        assert not {paths[0], paths[1]} & {row.path for row in rows}  # they are the query
        with pytest.raises(ValueError, match="want a photo or"):
            asked(like=[{"id": "x"}])
        with pytest.raises(ValueError, match="like has one or more"):
            asked(like=[])
        with pytest.raises(ValueError, match="unlike with like"):
            asked(unlike=[paths[0]], text="red")
        with open(paths[0], "rb") as file:
            content = {"bytes": file.read()}
        assert len(asked(like=[content, paths[1]], neighbours=2)) == 2
        with pytest.raises(kindred_ml.KindredError, match="looked up as words"):
            asked(like=[paths[0], {"text": "in snow"}])


def test_index_of_a_list_with_labels(kindred, trained, photos, paths, labels, tmp_path):
    index = kindred_ml.Index.create(tmp_path / "a.index", paths, labels=labels, run=trained.run_, progress=False)
    found = index.search(paths[0], neighbours=1, as_frame=False)
    assert [telling(n.columns) for n in found] == [{"label": "kind0"}] and len(index) == 32
    with pytest.raises(ValueError, match="labels are for a list"):
        kindred_ml.Index.create(tmp_path / "b.index", photos, labels=labels, run=trained.run_)


def test_index_of_a_file(kindred, tmp_path):
    np.save(tmp_path / "E.npy", np.eye(3))
    np.save(tmp_path / "names.npy", np.array([4, 5, 6]))
    index = kindred_ml.Index.create(tmp_path / "a.index", embeddings=tmp_path / "E.npy", labels=tmp_path / "names.npy")
    assert [n.label for n in index.search(vectors=0.9 * np.eye(3)[1:2], neighbours=1, as_frame=False)] == ["5"]
    with pytest.raises(ValueError, match="ids are for an array"):
        index.add(embeddings=tmp_path / "E.npy", ids=["a", "b", "c"])


def test_index_of_embeddings(kindred, tmp_path, monkeypatch):
    ids = ["-dash", 'a "b", c', "ünï", "plain"]
    index = kindred_ml.Index.create(
        tmp_path / "x.index", embeddings=np.eye(4, dtype=np.float32), ids=ids, labels=["a", "a", "b", "b"],
        columns={"id": ids, "price": [1, 2.5, 3, 4], "new": [True, False, True, np.bool_(False)]})
    kinds = {c["name"]: c["kind"] for c in index.info()["columns"]}
    assert kinds == {"label": "text", "price": "number", "new": "bool"}
    found = index.search(ids=ids[0], filter="price < 3", as_frame=False)
    assert [(n.id, n.columns) for n in found] == [(ids[1], {"label": "a", "new": False, "price": 2.5})]
    index.add(embeddings=np.ones((2, 4)), ids=["e", "f"], labels=["c", "c"])
    assert len(index) == 6
    monkeypatch.setattr("kindred_ml.index._LONGEST", 8)  # several commands
    assert index.remove(*ids) == 4 and len(index) == 2
    with pytest.raises(ValueError, match="columns of different lengths"):
        index.add(embeddings=np.eye(4), columns={"id": ["a"], "price": []})
    with pytest.raises(ValueError, match="nothing to put"):
        index.add()


def test_items_of_an_index(kindred, tmp_path, monkeypatch):
    ids = ["-dash", "007", "ü, n", "NA"]
    X = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
    index = kindred_ml.Index.create(
        tmp_path / "x.index", embeddings=X, ids=ids, labels=["a", "a", "b", "b"], distance="euclidean",
        columns={"id": ids, "price, net": [1, 2.5, None, 4], "new": [True, False, True, None]})
    whole = index.items(vectors=True, as_frame=False)
    assert [row["id"] for row in whole] == sorted(ids)
    by = {row["id"]: row for row in whole}
    assert by["ü, n"]["price, net"] is None and by["NA"]["new"] is None and by["007"]["price, net"] == 2.5
    for k, i in enumerate(ids):
        assert by[i]["vector"].dtype == np.float32 and (by[i]["vector"] == X[k]).all()
    monkeypatch.setattr("kindred_ml.index._PAGE", 1)  # several commands
    again = index.items(as_frame=False)
    assert [{k: v for k, v in row.items() if k != "vector"} for row in whole] == again
    assert index.items(filter='label = "b"', columns=["price, net"], as_frame=False) == [
        {"id": "NA", "path": "", "price, net": 4}, {"id": "ü, n", "path": "", "price, net": None}]
    assert index.items(filter='label = "none"', as_frame=False) == []
    with pytest.raises(ValueError, match=r"give a list of names, such as \['label'\]"):
        index.items(columns="label")
    with pytest.raises(kindred_ml.KindredError, match="colour"):
        index.items(columns=["colour"])


def test_items_frame(kindred, tmp_path):
    pd = pytest.importorskip("pandas", reason="needs pandas")
    index = kindred_ml.Index.create(tmp_path / "x.index", embeddings=np.eye(3), ids=["a", "b", "c"],
                                    columns={"id": ["a", "b", "c"], "price": [1, None, 3]})
    frame = index.items(vectors=True)
    assert list(frame.columns) == ["id", "path", "price", "vector"] and frame["price"].isna().tolist() == [
        False, True, False]
    assert isinstance(frame, pd.DataFrame) and np.stack(frame["vector"]).shape == (3, 3)
    empty = index.items(filter='price = 7')
    assert list(empty.columns) == ["id", "path", "price"] and len(empty) == 0


def test_index_frame(kindred, tmp_path):
    pd = pytest.importorskip("pandas", reason="needs pandas")
    columns = pd.DataFrame({"id": ["a", "b", "c"], "price": [1, 2, 3]})
    index = kindred_ml.Index.create(tmp_path / "x.index", embeddings=np.eye(3), ids=columns.id, columns=columns)
    frame = index.search(ids=["a", "b"], neighbours=1)
    assert list(frame["query"]) == ["a", "b"] and list(frame.columns)[-1] == "price" and "id" in frame.columns


def test_decisions(kindred, far_classes, tmp_path):
    X, y = far_classes
    out = tmp_path / "c.json"
    document = kindred_ml.calibrate(X, y, fmr=[1e-2], out=out)
    assert document["classes"] == 60 and [t["rate"] for t in document["thresholds"]] == [0.01]
    with pytest.raises(kindred_ml.KindredError, match="--force"):
        kindred_ml.calibrate(X, y, out=out)
    near, far = X[:1] + 0.1, np.full((1, 8), 40, dtype=np.float32)
    rows = kindred_ml.identify(vectors=np.vstack([near, far]), embeddings=X, labels=y, calibration=out, coverage=0.9,
                               as_frame=False)
    assert [(d.query, d.unknown) for d in rows] == [("vector 0", False), ("vector 1", True)]
    assert rows[0].label == "0" and rows[0].probability > rows[0].runner_up_probability and "0" in rows[0].set
    with pytest.raises(ValueError, match="either photos or vectors"):
        kindred_ml.identify()
    with pytest.raises(ValueError, match="needs labels, and out"):
        kindred_ml.calibrate(X)
    with pytest.raises(kindred_ml.KindredError, match="calibration"):
        kindred_ml.identify(vectors=near, embeddings=X, labels=y)


def test_closed_decisions(kindred, photos, paths, labels, tmp_path):
    """A closed calibration takes neither fpir nor strangers."""
    run = kindred_ml.Embedder(set={**SMALL, "data.validation": "images:0.6"}, folder=tmp_path,
                              progress=False).fit(paths, labels).run_
    kindred_ml.calibrate(run, progress=False)
    rows = kindred_ml.identify(photos / "kind0/0.png", run=run, in_=photos, as_frame=False, progress=False)
    assert [d.unknown for d in rows] == [False] and rows[0].label.startswith("kind")
    with pytest.raises(kindred_ml.KindredError, match="--fpir"):
        kindred_ml.identify(photos / "kind0/0.png", run=run, in_=photos, fpir=0.01, progress=False)


def test_decisions_frame(kindred, far_classes, tmp_path):
    pytest.importorskip("pandas", reason="needs pandas")
    X, y = far_classes
    np.savez(tmp_path / "E.npz", embeddings=X, label=y)
    kindred_ml.calibrate(tmp_path / "E.npz")
    frame = kindred_ml.identify(vectors=X[:3] + 0.1, embeddings=tmp_path / "E.npz")
    np.save(tmp_path / "other.npy", y + 100)
    other = kindred_ml.identify(vectors=X[:3] + 0.1, embeddings=tmp_path / "E.npz", labels=tmp_path / "other.npy")
    assert other["label"].tolist() == ["100"] * 3
    assert list(frame.columns) == ["query", "answer", "label", "probability", "unknown", "runner_up",
                                   "runner_up_probability", "nearest", "needed", "photos"]
    here = kindred_ml.identify(vectors=X[:1], embeddings=tmp_path / "E.npz")
    assert here["answer"].tolist() == ["picture"] and here["label"].tolist() == ["0"] and not here["unknown"][0]
    assert here["itself_labels"].tolist() == [["0"]] and here["others"][0].label == "0"
    assert frame.attrs["document"]["summary"]["named"] == 3 and "queries" not in frame.attrs["document"]
    assert frame["label"].tolist() == ["0"] * 3
