"""Client, against a real server and against bad ones."""

import contextlib
import dataclasses
import http.server
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import threading
import typing

import numpy as np
import pytest

import kindred_ml
from conftest import FILE, photo, telling
from kindred_ml import answers
from kindred_ml.client import Client


@contextlib.contextmanager
def started(kindred, *arguments):
    """The address of a server, which ends afterwards and leaves no pipe open."""
    with subprocess.Popen([kindred, "serve", *arguments, "--listen", "127.0.0.1:0", "--log-format", "json"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        reader = threading.Thread(target=process.stderr.read, daemon=True)
        try:
            first = process.stderr.readline()
            reader.start()
            address = re.search(r"http://127\.0\.0\.1:\d+", first)
            assert address, first
            yield address[0]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)
            reader.join()


@pytest.fixture(scope="module")
def serving(kindred, trained, photos, tmp_path_factory):
    """The address of a server: photos, embeddings with a calibration, and a few with cosine distance."""
    folder = tmp_path_factory.mktemp("served")
    index = kindred_ml.Index.create(folder / "photos.index", photos, run=trained.run_, progress=False)
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(60), 6)
    corners = kindred_ml.Index.create(folder / "corners.index", embeddings=np.vstack([np.eye(3), [1, 1, 0]]),
                                      ids=["x", "y", "z", "xy"], labels=["a", "a", "b", "b"], distance="cosine")
    X = 3 * random.normal(size=(60, 8))[y] + random.normal(size=(360, 8))
    names = [f"person {k}" for k in y]
    people = kindred_ml.Index.create(folder / "people.index", embeddings=X, labels=names,
                                     ids=[f"p/{k}" for k in range(360)])
    kindred_ml.calibrate(X, names, out=os.path.join(people.path, "calibration.json"))
    with started(kindred, index.path, people.path, corners.path, "--rate", "-1") as address:
        yield address


@pytest.fixture
def client(serving):
    return Client(serving)


def test_info(client):
    assert client.ready()
    info = client.info()
    first, second, _ = info.collections
    assert (first.name, first.items, first.dim, first.label, first.uploads) == ("photos", 32, 128, "label", True)
    assert first.calibration is None and answers.Column("label", "text") in first.columns
    assert {c.name for c in first.columns} - set(FILE) == {"label"}
    assert second.calibration.classes == 60 and second.calibration.false_matches[0].rate > 0
    assert info.limits["k"] == 1000
    assert client.openapi()["info"]["title"] == "kindred serve"
    assert "# TYPE" in client.metrics()


def test_search(client, trained, paths):
    by_path = client.search(paths[0], k=3)
    with open(paths[0], "rb") as file:
        by_content = client.search(file.read(), k=3)
    x = trained.transform([paths[0]])[0]
    by_vector = client.search(vector=x, k=3, vectors=True, columns=["label"])
    by_id = client.search(id="kind0/0.png", k=2)
    assert [n.id for n in by_path.neighbours] == [n.id for n in by_content.neighbours] == [
        n.id for n in by_vector.neighbours]
    assert by_vector.neighbours[0].id == "kind0/0.png" and by_vector.neighbours[0].distance == 0
    assert np.array_equal(by_vector.neighbours[0].vector, x) and by_path.neighbours[0].vector is None
    assert [n.id for n in by_id.neighbours] == [n.id for n in by_vector.neighbours[1:]]
    assert telling(by_id.neighbours[0].columns) == {"label": "kind0"} and by_id.neighbours[0].same is None
    assert {n.columns["label"] for n in client.search(paths[0], filter='label = "kind2"').neighbours} == {"kind2"}
    assert "data:image/png" in by_id._repr_html_()
    others = client.search(paths[0], k=3, except_itself=True)
    assert others.itself == ["kind0/0.png"] and by_path.itself is None and [n.itself for n in by_path.neighbours] == [
        True, None, None]
    assert [n.id for n in others.neighbours][:2] == [n.id for n in by_path.neighbours[1:]]
    assert client.explain(paths[0], k=3, except_itself=True).itself == others.itself
    with pytest.raises(ValueError, match="one of a photo, an id, a vector, a text, a picture and like"):
        client.search(paths[0], id="kind0/0.png")


def test_sums_and_groups(serving):
    client = Client(serving, collection="corners")
    found = client.search(like=[{"id": "x"}, {"vector": np.float32([0, 5, 0])}], explain=True)
    assert [n.id for n in found.neighbours][0] == "xy" and found.neighbours[0].distance == pytest.approx(0, abs=1e-6)
    assert (found.schema, found.gallery, found.items, found.distance) == (2, "corners", 4, "cosine")
    assert "sum" in found.explain.query and found.explain.steps
    assert client.search(like=[{"id": "xy"}], unlike=[{"id": "x"}]).neighbours[0].id == "y"
    groups = client.search(vector=[1, 0.1, 0], group_by="label", others=1).neighbours
    assert [(n.id, n.count, [o.id for o in n.others]) for n in groups] == [("x", 2, ["y"]), ("xy", 2, ["z"])]
    assert [n.id for n in client.search(vector=[1, 0.1, 0], k=2).neighbours] == ["x", "xy"]
    assert [n.id for n in client.search(vector=[1, 0.1, 0], k=2, diverse=0.9).neighbours] == ["x", "y"]
    assert client.search(id="x", rerank="k-reciprocal").neighbours[0].score is not None
    assert client.explain(vector=[1, 0.1, 0], k=3, collapse=0.5).neighbours[0].count == 2
    with pytest.raises(kindred_ml.ServerError, match="picture|network"):
        client.search(like=[photo(0, 0), {"text": "red"}])
    with pytest.raises(ValueError, match="give both"):
        client.search(id="x", unlike=[{"id": "y"}])
    with pytest.raises(kindred_ml.KindredError, match=r"a\\ud800.*only whole characters"):
        client.search(like=[{"text": HALF}])


def test_a_sum_of_photos(client, paths):
    with open(paths[8], "rb") as file:
        found = client.search(like=[paths[0], {"id": "kind0/1.png"}], unlike=[file.read()], k=3, except_itself=True)
    assert set(found.itself) == {"kind0/0.png", "kind0/1.png"}  # what is subtracted may be found
    assert len(found.neighbours) == 3 and not {n.id for n in found.neighbours} & set(found.itself)


def test_look_around(client):
    assert client.info().collections[0].browse
    drawn = [client.page(limit=5, seed=seed, filter='label != "kind3"') for seed in (1, 1, 2)]
    ids = [[item.id for item in page.items] for page in drawn]
    assert drawn[0].passed == 24 and ids[0] == ids[1] != ids[2] and len(ids[0]) == 5
    assert client.page(limit=5).passed is None
    assert [item.id for item in client.page(like="2/7.pn", limit=1).items] == ["kind2/7.png"]


def test_explain(client):
    explanation = client.explain(id="kind0/0.png", k=4)
    assert explanation.class_ == "kind0" and explanation.shares[0].class_ == "kind0"
    assert explanation.notes and explanation.distances["nearest"] <= explanation.distances["farthest"]


def test_identify(serving):
    client = Client(serving, collection="people")
    item = client.get("p/7")
    decided = client.identify(ids="p/7", coverage=0.9)
    assert decided.label == item.columns["label"] == "person 1" and "person 1" in decided.others.set
    known = client.identify(vectors=item.vector)
    assert known.label == "person 1" and known.unknown == decided.unknown and known.nearest == decided.nearest > 0
    assert known.itself == decided.itself == ["p/7"] and known.answer == "picture" and known.itself_labels == [
        "person 1"] and known.others.label == "person 1" and known.others.probability < known.probability == 1
    assert client.identify(vectors=np.full(8, 40)).unknown
    assert client.search(id="p/7", k=1).neighbours[0].same > 0
    assert all(n.same >= 0.5 for n in client.search(id="p/7", least=0.5).neighbours)
    with pytest.raises(kindred_ml.ServerError) as caught:
        Client(serving).identify(ids=["kind0/0.png"])  # no calibration there
    assert "calibra" in str(caught.value)


def test_items_come_and_go(client, tmp_path):
    ids = [i.id for i in client.items(limit=7)]
    assert len(ids) == 32 and ids == sorted(ids)
    assert {i.columns["label"] for i in client.items(filter='label = "kind1"')} == {"kind1"}
    x = next(client.items(vectors=True)).vector
    assert x.shape == (128,) and x.dtype == np.float32
    name = 'a/b "c" ü?#&'
    assert client.add([{"id": name, "vector": x, "columns": {"label": "new"}}]) == [name]
    with pytest.raises(kindred_ml.ServerError) as caught:
        client.add([answers.Item(name, vector=x)])
    assert caught.value.status == 409 and caught.value.code and caught.value.fix and caught.value.request_id
    got = client.get(name)
    assert np.array_equal(got.vector, x) and got.columns == {"label": "new"}
    assert client.put([got]) == [name]
    assert client.change(name, columns={"label": "other"}) == name
    assert client.get(name).columns == {"label": "other"}
    assert client.remove(name, "no such item") == 1
    with pytest.raises(kindred_ml.ServerError, match="404") as caught:
        client.get(name)
    (tmp_path / "p.png").write_bytes(photo(2, 99))
    made = client.add_photo(tmp_path / "p.png", columns={"label": "ünï"})
    assert client.get(made).columns == {"label": "ünï"}
    assert client.put_photo(photo(2, 99), id="named") == "named"
    assert client.picture(made) == photo(2, 99)
    assert client.thumbnail(made, size=16).startswith(b"\xff\xd8")
    assert client.remove(made, "named") == 2


def test_edits_and_removals_are_undone(client):
    assert client.info().may == "write" and client.pending() is None
    ids = [i.id for i in client.page(limit=3).items]
    before = [client.get(i) for i in ids]
    done = client.edit_all(ids=ids, columns={"label": "new", "price": 2.5})
    assert done.ids == ids and [e.id for e in done.before] == ids and done.before[0].columns["price"] is None
    assert client.labels(filter='label = "new"').labels == [answers.Label("new", 3, ids)]
    got = client.get(ids[0])
    assert got.columns["file.digest"] == before[0].columns["file.digest"] and got.columns["price"] == 2.5
    client.edit_all(done.before)
    assert [client.get(i).columns for i in ids] == [b.columns for b in before]
    once = client.edit(ids[0], {"price": 1})
    client.edit_all([{"id": e.id, "columns": e.columns} for e in once.before])
    taken = client.take(*ids, "no such item")
    assert [i.id for i in taken] == ids and taken[0].columns == before[0].columns
    assert client.labels(limit=1, start=1, sort="name").total == 4
    client.put(taken)
    assert client.picture(ids[0])
    with pytest.raises(kindred_ml.ServerError, match="422"):
        client.decide("x", "keep")


def test_kept_pictures(client):
    name = client.keep_picture(photo(1, 7))
    assert client.kept_picture(name) == photo(1, 7)
    found, same = client.search(picture=name, k=3), client.search(photo(1, 7), k=3)
    assert [(n.id, n.distance) for n in found.neighbours] == [(n.id, n.distance) for n in same.neighbours]
    with pytest.raises(kindred_ml.ServerError, match="404"):
        client.search(picture="0" * 64)
    with pytest.raises(ValueError):
        client.search(photo(1, 7), picture=name)


def test_map(client):
    state = client.map(wait=60)
    assert state.state == "ready" and state.items == 32
    points = client.map_points(state.version)
    assert points.shape == (32, 2) and points.dtype == np.float32
    ids = client.map_ids(state.version)
    column = client.map_column(state.version, "label")
    assert [column.classes[k] for k in column.of] == [i.split("/")[0] for i in ids]


def test_what_the_server_refuses(client, serving):
    with pytest.raises(kindred_ml.ServerError) as caught:
        client.search(id="kind0/0.png", filter="price <")
    assert caught.value.status in (400, 422) and "price" in caught.value.detail
    assert str(caught.value).startswith(caught.value.detail) and isinstance(caught.value, kindred_ml.KindredError)
    with pytest.raises(kindred_ml.ServerError, match="nothere"):
        Client(serving, collection="nothere").search(id="x")
    with pytest.raises(kindred_ml.ServerError):
        client.search(photo=b"no picture")
    with pytest.raises(ValueError, match="must be http"):
        Client("127.0.0.1:7700")


def test_keys_are_sent(kindred, tmp_path):
    index = kindred_ml.Index.create(tmp_path / "x.index", embeddings=np.eye(3), ids=["a", "b", "c"])
    keys = tmp_path / "keys.txt"
    made = subprocess.run([kindred, "serve", "key", "--name", "t", "--may", "read", "--file", str(keys), "--json"],
                          check=True, capture_output=True, text=True).stdout
    key = json.loads(made)["key"]
    with started(kindred, index.path, "--keys", str(keys)) as address:
        with pytest.raises(kindred_ml.ServerError, match="401"):
            Client(address).info()
        client = Client(address, key=key)
        assert client.info().collections[0].items == 3 and key not in repr(client)
        with pytest.raises(kindred_ml.ServerError, match="403"):
            client.remove("a")


HALF = "a\ud800"


@pytest.mark.parametrize("call", [
    lambda c: c.get(HALF), lambda c: c.picture(HALF), lambda c: c.thumbnail(HALF),
    lambda c: c.change(HALF, columns={}), lambda c: c.change("a", path=HALF), lambda c: c.remove("a", HALF),
    lambda c: c.add([{"id": HALF, "vector": [1]}]), lambda c: c.put([{"id": "a", "columns": {HALF: 1}}]),
    lambda c: c.add_photo(b"", id=HALF), lambda c: c.put_photo(b"", columns={"label": HALF}),
    lambda c: c.add_photo(HALF), lambda c: c.search(id=HALF), lambda c: c.search(HALF),
    lambda c: c.search(b"", columns=[HALF]), lambda c: c.explain(id="a", filter=HALF),
    lambda c: c.identify(ids=HALF), lambda c: c.page(after=HALF), lambda c: c.page(like=HALF),
    lambda c: list(c.items(filter=HALF)),
    lambda c: c.map_column(1, HALF), lambda c: Client(c.address, collection=HALF).info()])
def test_half_a_character_is_not_sent(call):
    client = Client("http://127.0.0.1:9")  # where nothing listens
    with pytest.raises(kindred_ml.KindredError, match=r"a\\ud800.*only whole characters") as caught:
        call(client)
    assert not isinstance(caught.value, kindred_ml.ServerError)


class Bad(http.server.BaseHTTPRequestHandler):
    """Answers what ``answers`` of the server holds, one after the other."""

    def do_GET(self):
        status, headers, body = self.server.answers.pop(0)
        self.server.seen.append((self.path, dict(self.headers)))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def bad():
    server = http.server.HTTPServer(("127.0.0.1", 0), Bad)
    server.answers, server.seen = [], []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server, Client(f"http://127.0.0.1:{server.server_address[1]}", key="secret")
    server.shutdown()
    thread.join()
    server.server_close()


def test_servers_that_are_none(bad):
    server, client = bad
    server.answers = [(200, {}, b"<html>"), (502, {"Content-Type": "text/html"}, b"\xff bad gateway"),
                      (302, {"Location": "http://127.0.0.1:1/"}, b""),
                      (500, {"Content-Type": "application/problem+json"}, b"[]")]
    with pytest.raises(kindred_ml.KindredError, match="not JSON"):
        client.info()
    with pytest.raises(kindred_ml.ServerError, match="bad gateway.*502 unknown"):
        client.info()
    with pytest.raises(kindred_ml.ServerError, match="302"):  # the key goes nowhere else
        client.info()
    with pytest.raises(kindred_ml.ServerError, match="500 unknown"):
        client.info()
    address = client.address
    server.server_close()
    with pytest.raises(kindred_ml.ServerError, match="does not answer") as caught:
        Client(address, timeout=1).info()
    assert caught.value.status is None and not Client(address, timeout=1).ready()


def test_a_full_server_is_asked_again(bad):
    server, client = bad
    problem = {"code": "busy", "detail": "no room", "fix": "", "request_id": "1"}
    busy = (503, {"Content-Type": "application/problem+json", "Retry-After": "0"}, json.dumps(problem).encode())
    late = (503, {"Content-Type": "application/problem+json", "Retry-After": "99"}, busy[2])
    server.answers = [busy, (200, {}, b'{"openapi": 1}'), late, busy]
    assert client.openapi() == {"openapi": 1} and len(server.seen) == 2
    with pytest.raises(kindred_ml.ServerError, match="no room") as caught:
        client.openapi()
    assert caught.value.retry_after == 99 and len(server.seen) == 3
    with pytest.raises(kindred_ml.ServerError):
        Client(client.address, retries=0).openapi()
    assert server.seen[0][1]["Authorization"] == "Bearer secret"


def test_answers_are_those_of_the_description(client):
    """Every dataclass has the fields of its schema; those that may be missing have a default."""
    schemas = client.openapi()["components"]["schemas"]

    def whole(schema):
        """The properties and the required ones of a schema, with those of the schemas that it consists of."""
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rpartition("/")[2]]
        properties, required = dict(schema.get("properties", {})), set(schema.get("required", []))
        for part in schema.get("allOf", []):
            more = whole(part)
            properties, required = {**properties, **more[0]}, required | more[1]
        return properties, required

    kinds = [k for _, k in inspect.getmembers(answers, dataclasses.is_dataclass)]
    assert len(kinds) > 10
    for kind in kinds:
        properties, required = whole(schemas[kind.__name__])
        fields = {f.name.rstrip("_"): f.default is dataclasses.MISSING for f in dataclasses.fields(kind)}
        assert set(fields) == set(properties), kind
        assert {name for name, wanted in fields.items() if wanted} == required, kind
        hints = typing.get_type_hints(kind)
        names = {"string": str, "integer": int, "number": float, "boolean": bool}
        for name, hint in ((n.rstrip("_"), h) for n, h in hints.items()):
            want = names.get(properties[name].get("type"))
            inner = next((h for h in typing.get_args(hint) if h is not type(None)), hint) \
                if typing.get_origin(hint) is typing.Union else hint
            assert want is None or inner is want, (kind, name)


def test_every_request_about_items_and_maps_is_here(client):
    """What the description has and the client has not is named here."""
    without = {"/healthz", "/v1/review", "/v1/review/decisions"}
    source = inspect.getsource(sys.modules["kindred_ml.client"])
    for path in client.openapi()["paths"]:
        literal = path.replace("{id}", "").rstrip("/")
        for end in ("/picture", "/thumbnail"):
            if literal.endswith(end):
                literal = f'_item(id) + "{end}"'
        assert (path in without) != (literal in source), path
