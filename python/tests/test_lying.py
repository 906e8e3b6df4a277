"""Client, against servers that lie, stall and never end."""

import gzip
import json
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import kindred_ml
from conftest import photo
from kindred_ml.client import Client

PACKAGE = str(Path(kindred_ml.__file__).resolve().parents[1])

# What the client is given, and what it may take beyond it where the machine does much else.
TIMEOUT, MOMENT = 1.0, 4.0


class Lying:
    """A server of raw bytes: tell(connection, request) says what it sends to each."""

    def __init__(self, tell, context=None):
        self.tell = tell
        self.seen = []
        self.over = threading.Event()
        self._context = context
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = "http://127.0.0.1:%d" % self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            connection.settimeout(30)
            if self._context:
                connection = self._context.wrap_socket(connection, server_side=True)
            request = b""
            while b"\r\n\r\n" not in request:
                block = connection.recv(1 << 16)
                if not block:
                    return
                request += block
            head, _, body = request.partition(b"\r\n\r\n")
            for line in head.split(b"\r\n"):
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    while len(body) < int(value):
                        body += connection.recv(1 << 16)
            self.seen.append(head.decode("latin-1"))
            self.tell(self, connection, head.decode("latin-1"))
        except OSError:
            pass  # the client has had enough
        finally:
            connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.over.set()
        self._socket.close()


def says(content):
    """Bytes, and the end."""
    return lambda server, connection, request: connection.sendall(content)


def whole(body, status="200 OK", *headers):
    """An answer."""
    head = "".join(f"{h}\r\n" for h in headers)
    return says(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body)


def trickles(before, piece=b"x"):
    """Bytes, and then a piece now and then, for longer than anybody waits."""
    def tell(server, connection, request):
        connection.sendall(before)
        for _ in range(600):
            if server.over.wait(0.1):
                return
            connection.sendall(piece)
    return tell


def floods(before, block):
    """Bytes, and then a block without end."""
    def tell(server, connection, request):
        connection.sendall(before)
        while not server.over.is_set():
            connection.sendall(block)
    return tell


def resets(server, connection, request):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def problem(**other):
    document = {"type": "urn:kindred:problem:x", "title": "X", "status": 500, "code": "x", "detail": "d", "fix": "f",
                "request_id": "r", **other}
    return whole(json.dumps(document).encode(), "500 X", "Content-Type: application/problem+json")


def later(after):
    return whole(b'{"code": "busy"}', "503 Busy", "Content-Type: application/problem+json", f"Retry-After: {after}")


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

# What a server does that is no answer: every call is an error of the package.
BROKEN = {
    "closes": says(b""),
    "resets": resets,
    "is silent": trickles(b"", b""),
    "trickles the status": trickles(b"HTTP/1.1 2"),
    "trickles a header": trickles(OK + b"X: "),
    "trickles headers": trickles(OK, b"X: y\r\n"),
    "trickles a body with a length": trickles(OK + b"Content-Length: 100000\r\n\r\n"),
    "trickles a body without one": trickles(OK + b"\r\n", b" "),
    "trickles chunks": trickles(CHUNKED, b"1\r\n \r\n"),
    "trickles the size of a chunk": trickles(CHUNKED, b"0"),
    "trickles trailers": trickles(CHUNKED + b"2\r\n{}\r\n0\r\n", b"X: y\r\n"),
    "says 100 without end": floods(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "has one header without end": floods(OK + b"X: ", b"y" * 65536),
    "has headers without end": floods(OK, b"X: y\r\n" * 1000),
    "has a body without end": floods(OK + b"\r\n", b" " * 65536),
    "has chunks without end": floods(CHUNKED, b"1000\r\n" + b" " * 4096 + b"\r\n"),
    "announces a terabyte": floods(OK + b"Content-Length: 1000000000000\r\n\r\n", b" " * 65536),
    "announces 10^5000 bytes": floods(OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", b" " * 65536),
    "breaks off": says(OK + b"Content-Length: 100\r\n\r\n{}"),
    "breaks off in a chunk": says(CHUNKED + b"100\r\n{}"),
    "breaks off after a chunk": says(CHUNKED + b"2\r\n{}\r\n"),
    "has a chunk of no size": says(CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n"),
    "has a chunk of a size below 0": says(CHUNKED + b"-5\r\n{}\r\n0\r\n\r\n"),
    "has a chunk of 2^80 bytes": says(CHUNKED + b"1" + b"0" * 20 + b"\r\n{}"),
    "has a long size of a chunk": floods(CHUNKED, b"0" * 65536),
    "speaks no HTTP": says(b"220 mail.example ESMTP\r\n"),
    "speaks TLS": says(b"\x15\x03\x01\x00\x02\x02\x46"),
    "speaks binary": says(bytes(range(256)) * 20),
    "has an empty line first": says(b"\r\n\r\n"),
    "speaks HTTP/9": says(b"HTTP/9.9 200 OK\r\n\r\n{}"),
    "speaks of HTTP/0.9": says(b'{"ids": []}'),
    "has a status of a text": says(b"HTTP/1.1 fine OK\r\n\r\n{}"),
    "has a status of 99": says(b"HTTP/1.1 099 OK\r\n\r\n{}"),
    "has a status of 20 digits": says(b"HTTP/1.1 " + b"2" * 20 + b" OK\r\n\r\n{}"),
    "switches protocols": says(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
    "has 200 headers": says(OK + b"X: y\r\n" * 200 + b"\r\n{}"),
    "redirects": whole(b"", "302 Found", "Location: http://127.0.0.1:1/"),
    "redirects and keeps the method": whole(b"", "307 Temporary Redirect", "Location: http://[::1"),
    "redirects to a file": whole(b"", "301 Moved Permanently", "Location: file:///etc/passwd"),
    "redirects to nowhere": whole(b"", "308 Permanent Redirect"),
    "has a page for an error": whole(b"<html>\xff</html>", "502 Bad Gateway", "Content-Type: text/html"),
    "has a problem of another shape": problem(code=["x"], detail={"a": 1}),
    "has a problem without a detail": whole(b'{"code": "x"}', "404 X", "Content-Type: application/problem+json"),
    "has a problem that is deep": whole(b"[" * 200000, "400 X", "Content-Type: application/problem+json"),
    "trickles a problem": trickles(b"HTTP/1.1 500 X\r\nContent-Type: application/problem+json\r\n\r\n"),
    "has a problem without end": floods(b"HTTP/1.1 500 X\r\n\r\n", b" " * 65536),
    "breaks off a problem": says(b"HTTP/1.1 500 X\r\nContent-Length: 1000\r\n\r\n{"),
    "is busy without end": later("0"),
    "is busy for no number": later("nan"),
    "is busy for ever": later("inf"),
    "is busy for 10^308 s": later("1e308"),
    "is busy for less than nothing": later("-5"),
}

# Whole answers that say nothing that a method could return but those that take any bytes, text or object.
EMPTY = {
    "is empty": whole(b""),
    "has no content": says(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "is a page": whole(b"<html></html>", "200 OK", "Content-Type: text/html"),
    "is no UTF-8": whole(b'{"ids": ["\xff\xfe"]}'),
    "is UTF-16": whole('{"ids": []}'.encode("utf-16")),
    "is compressed": whole(gzip.compress(b"{}"), "200 OK", "Content-Encoding: gzip"),
    "is deep": whole(b"[" * 200000),
    "is a deep object": whole(b'{"a":' * 100000 + b"1" + b"}" * 100000),
    "is many lists": whole(b"[" + b"[]," * 2000000 + b"1]"),
    "is not a number": whole(b'{"items": NaN}'),
    "is infinite": whole(b"-Infinity"),
    "is half a character": whole(b'{"ids": ["\\ud800"], "items": [{"id": "\\udc00"}]}'),
    "has a number of many digits": whole(b'{"deleted": ' + b"9" * 1000000 + b"}"),
    "is null": whole(b"null"),
    "is true": whole(b"true"),
    "is a number": whole(b"1e999"),
    "is a text": whole(b'"ids"'),
    "is a list": whole(b'[{"ids": []}]'),
    "is an object without fields": whole(b"{}"),
    "has a text for everything": whole(json.dumps(dict.fromkeys(
        ["ids", "items", "deleted", "collections", "neighbours", "status", "next", "name"], "x")).encode()),
}

VECTOR = [0.5, 1.5]
CALLS = {
    "ready": lambda c: c.ready(),
    "info": lambda c: c.info(),
    "openapi": lambda c: c.openapi(),
    "metrics": lambda c: c.metrics(),
    "search": lambda c: c.search(vector=VECTOR),
    "search with a photo": lambda c: c.search(photo(1, 1)),
    "explain": lambda c: c.explain(id="a"),
    "identify": lambda c: c.identify(vectors=VECTOR),
    "identify photos": lambda c: c.identify([photo(1, 1)] * 2),
    "items": lambda c: list(c.items()),
    "page": lambda c: c.page(),
    "get": lambda c: c.get("a/b ü"),
    "add": lambda c: c.add([{"id": "a", "vector": VECTOR}]),
    "put": lambda c: c.put([{"id": "a", "vector": VECTOR}]),
    "add_photo": lambda c: c.add_photo(photo(1, 1)),
    "put_photo": lambda c: c.put_photo(photo(1, 1)),
    "change": lambda c: c.change("a", columns={"b": 1}),
    "edit": lambda c: c.edit("a", {"b": 1}),
    "edit_all": lambda c: c.edit_all(ids=["a"], columns={"b": 1}),
    "take": lambda c: c.take("a"),
    "labels": lambda c: c.labels(),
    "keep_picture": lambda c: c.keep_picture(photo(1, 1)),
    "kept_picture": lambda c: c.kept_picture("ab"),
    "pending": lambda c: c.pending(),
    "decide": lambda c: c.decide("a", "keep"),
    "remove": lambda c: c.remove("a"),
    "picture": lambda c: c.picture("a"),
    "thumbnail": lambda c: c.thumbnail("a"),
    "map": lambda c: c.map(),
    "map until it is there": lambda c: c.map(wait=0.3),
    "map_points": lambda c: c.map_points(1),
    "map_ids": lambda c: c.map_ids(1),
    "map_column": lambda c: c.map_column(1, "b"),
}

# What these return of a whole answer, whatever is in it.
RETURNED = {"openapi": dict, "metrics": str, "picture": bytes, "thumbnail": bytes, "kept_picture": bytes, "map_points": np.ndarray,
            "ready": bool}


def test_every_method_is_here():
    methods = {name for name in vars(Client) if not name.startswith("_")}
    assert methods == {name.split()[0] for name in CALLS}
    assert len(BROKEN) + len(EMPTY) >= 40


# What a message ends with: what to do about it.
WAYS_OUT = ["check which program listens", "give Client that address", "longer timeout", "start kindred serve there",
            "Client(largest=...)"]


def outcome(call, client):
    """What comes of a call, and the seconds that it took."""
    begun = time.monotonic()
    try:
        result = call(client)
    except BaseException as e:  # whatever it is
        result = e
    return result, time.monotonic() - begun


@pytest.mark.parametrize("name", [*BROKEN, *EMPTY])
def test_every_failure_is_an_error_of_the_package_in_time(name):
    with Lying({**BROKEN, **EMPTY}[name]) as server:
        client = Client(server.address, key="secret", timeout=TIMEOUT, retries=2, largest=8 << 20)
        with ThreadPoolExecutor(len(CALLS)) as pool:
            results = dict(zip(CALLS, pool.map(lambda call: outcome(call, client), CALLS.values())))
    for method, (result, seconds) in results.items():
        assert seconds < TIMEOUT + MOMENT, (method, seconds, result)
        if name in EMPTY and method in RETURNED and not isinstance(result, BaseException):
            assert isinstance(result, RETURNED[method]), (method, result)
        elif method == "ready" and name in BROKEN:
            assert result is False or isinstance(result, kindred_ml.KindredError), (method, result)
        else:
            assert isinstance(result, kindred_ml.KindredError), (method, result)
            text = str(result)
            assert server.address in text or result.status // 100 == 3, (method, text)
            assert len(text) < 1000 and any(out in text for out in WAYS_OUT), (method, text)
            assert result.__cause__ or result.status or text.startswith(
                ("GET /openapi", "GET /v1/map/points", "POST /v1/sync/pending")), text
            assert "secret" not in text


def test_a_redirect_takes_the_key_nowhere():
    with Lying(says(b"")) as other:
        with Lying(whole(b"", "307 X", f"Location: {other.address}/v1/info")) as server:
            with pytest.raises(kindred_ml.ServerError, match="give Client that address") as caught:
                Client(server.address, key="secret").info()
        assert other.address in str(caught.value) and caught.value.status == 307 and other.seen == []


def test_a_deadline_is_for_the_whole_call():
    with Lying(BROKEN["trickles a body with a length"]) as server:
        result, seconds = outcome(CALLS["info"], Client(server.address, timeout=TIMEOUT))
    assert isinstance(result, kindred_ml.ServerError) and (result.status, result.code) == (None, "timeout")
    assert "within 1 s" in str(result) and "longer timeout" in result.fix
    assert TIMEOUT <= seconds < TIMEOUT + MOMENT
    with Lying(later("0.9")) as server:  # waits count too
        result, seconds = outcome(CALLS["info"], Client(server.address, timeout=TIMEOUT, retries=50))
    assert result.status == 503 and seconds < TIMEOUT + MOMENT and len(server.seen) <= 2


def test_a_server_that_takes_nothing():
    """What is sent is bounded in time too."""
    listening = socket.create_server(("127.0.0.1", 0))  # whose connections nobody reads
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    try:
        client = Client("http://127.0.0.1:%d" % listening.getsockname()[1], timeout=TIMEOUT)
        result, seconds = outcome(lambda c: c.add_photo(b"x" * (32 << 20)), client)
    finally:
        listening.close()
    assert isinstance(result, kindred_ml.ServerError) and result.code == "timeout", result
    assert seconds < TIMEOUT + MOMENT


def test_secure_connections_have_the_deadline(tmp_path, monkeypatch):
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl to make a certificate")
    files = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", files[0], "-out", files[1],
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True,
                   capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files[1], files[0])
    with Lying(whole(b'{"ids": ["a"]}'), context) as server:
        address = server.address.replace("http", "https")
        with pytest.raises(kindred_ml.ServerError, match="certificate"):
            Client(address).put([])
        monkeypatch.setenv("SSL_CERT_FILE", str(files[1]))
        assert Client(address).put([{"id": "a", "path": "x" * 100000}]) == ["a"]
        server.tell = BROKEN["trickles headers"]
        result, seconds = outcome(CALLS["info"], Client(address, timeout=TIMEOUT))
        assert result.code == "timeout" and seconds < TIMEOUT + MOMENT
    with Lying(trickles(b"")) as server:  # no handshake
        result, seconds = outcome(CALLS["info"], Client(server.address.replace("http", "https"), timeout=TIMEOUT))
        assert isinstance(result, kindred_ml.ServerError) and seconds < TIMEOUT + MOMENT


def test_proxies_of_the_environment(monkeypatch):
    with Lying(whole(b'{"ids": []}')) as proxy:
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy.address)
        monkeypatch.delenv("no_proxy", raising=False)
        assert Client("http://kindred.test:77").put([]) == []
        assert proxy.seen[0].startswith("PUT http://kindred.test:77/v1/items HTTP/1.1")
        proxy.tell = trickles(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n")
        result, seconds = outcome(CALLS["info"], Client("https://kindred.test", timeout=TIMEOUT))
        assert proxy.seen[1].startswith("CONNECT kindred.test:443")
        assert result.code == "timeout" and seconds < TIMEOUT + MOMENT


def listing(pages):
    """A server of pages by what they come after; "*" is any."""
    def tell(server, connection, request):
        after = request.split()[1].partition("after=")[2].partition("&")[0]
        whole(json.dumps(pages.get(after, pages.get("*"))).encode())(server, connection, request)
    return tell


@pytest.mark.parametrize("pages", [
    {"*": {"items": [{"id": "a"}], "next": "a"}},
    {"": {"items": [{"id": "a"}], "next": "a"}, "a": {"items": [{"id": "b"}], "next": "b"},
     "b": {"items": [{"id": "a"}], "next": "a"}},
    {"*": {"items": [], "next": "a"}},
])
def test_a_list_has_an_end(pages):
    with Lying(listing(pages)) as server:
        client = Client(server.address, timeout=TIMEOUT)
        got = []
        with pytest.raises(kindred_ml.KindredError, match="continues after 'a', without end"):
            for item in client.items():
                got.append(item.id)
        assert len(got) < 4 and len(server.seen) < 5


def test_ids_of_a_map_have_an_end():
    many = json.dumps({"ids": ["id"] * 100000}).encode()
    with Lying(whole(many)) as server:
        with pytest.raises(kindred_ml.KindredError, match="longer than 4000000 bytes"):
            Client(server.address, largest=4000000).map_ids(1)
        assert 5 < len(server.seen) < 12
    with Lying(whole(many[:-2] + b', "one more"]}')) as server:
        with pytest.raises(kindred_ml.KindredError, match="longer than requested"):
            Client(server.address).map_ids(1)


HEAD = {"schema": 2, "gallery": "c", "items": 1, "distance": "cosine"}
HIT = {"id": "a", "label": "l", "distance": 0.5, "path": "p", "columns": {"price": 2}, "vector": [0.5, 1.5],
       "same": 0.5, "count": 2, "others": [{"id": "b", "label": "l", "distance": 0.5}]}
THRESHOLD = {"rate": 0.5, "distance": 0.5, "measured": 0.5, "bound": 0.5, "true_match": 0.5}
RIGHT = {
    "info": {"version": "v", "limits": {"k": 5}, "review": "r", "collections": [
        {"name": "c", "items": 1, "dim": 2, "distance": "cosine", "columns": [{"name": "n", "kind": "text"}],
         "label": "", "network": "", "uploads": True, "read_only": False, "version": 3, "browse": True, "side": 224,
         "calibration": {
             "classes": 60, "photos": 100, "ece": 0.5, "label_ece": 0.5, "false_matches": [THRESHOLD],
             "unknown": THRESHOLD}, "following": {"folder": "f", "state": "failed", "embedded": 1, "to_embed": 2,
                                                  "current": "2026-11-27T12:03:00Z", "error": "e"}}]},
    "search": {**HEAD, "neighbours": [HIT], "vector": [0.5], "itself": ["b"],
               "explain": {"query": "q", "gallery": "g", "distance": "d", "steps": ["s"]}},
    "explain": {**HEAD, "label": "l", "class": "k", "neighbours": [HIT],
                "notes": ["n"], "shares": [{"class": "k", "count": 1, "share": 0.5, "nearest": 0.5, "farthest": 0.5}],
                "distances": {"nearest": 0.5}, "neighbourhood": {
                    "rows": 1, "state": "s", "score": 0.5, "text": "t", "reasons": ["r"], "spread": 0.5,
                    "compactness": 0.5, "recall": 0.5, "classes": [
                        {"class": "k", "rows": 2, "intra": 0.5, "other": 0.5, "nearest": "m", "modes": 1}]}},
    "identify": {**HEAD, "classes": 2, "fpir": 0.5, "photos": 1, "answer": "picture", "label": "l",
                 "probability": 0.5, "unknown": False, "others": {"label": "l", "probability": 0.5, "unknown": False},
                 "nearest": 0.5, "within": 0.5, "set": ["l"]},
    "page": {"items": [{"id": "a", "path": "p", "columns": {"b": 1}, "vector": [0.5]}], "next": "", "passed": 5},
    "get": {"id": "a", "vector": [0.5]},
    "add": {"ids": ["a"]},
    "add_photo": {"ids": ["a"]},
    "change": {"ids": ["a"]},
    "remove": {"deleted": 1},
    "map": {"collection": "c", "state": "ready", "version": 1, "items": 2, "stale": False, "method": "tsne",
            "placed": 2, "x": [0.5, 1.5], "y": [0.5, 1.5]},
    "map_ids": {"ids": ["a"]},
    "map_column": {"name": "n", "kind": "number", "classes": ["a"], "of": [0], "numbers": [0.5]},
    "ready": {"status": "ready"},
}


def places(document, where=()):
    """Where values are in a document, with them. What is in free objects is left out."""
    yield where, document
    inner = dict(enumerate(document)) if isinstance(document, list) else document
    for key, value in inner.items() if isinstance(inner, dict) else ():
        if not where or where[-1] not in ("columns", "limits", "distances") or isinstance(key, int):
            yield from places(value, (*where, key))


MISSING = object()


def changed(document, where, value):
    if not where:
        return value
    document = json.loads(json.dumps(document))
    at = document
    for key in where[:-1]:
        at = at[key]
    if value is MISSING:
        del at[where[-1]]
    else:
        at[where[-1]] = value
    return document


def named(where):
    out = ""
    for key in where:
        out += f"[{key}]" if isinstance(key, int) else f".{key}" if out else key
    return out


OPTIONAL = {"vector", "path", "columns", "same", "itself", "neighbourhood", "calibration", "review", "set", "passed",
            "of", "numbers", "side", "following", "current", "error", "count", "others",
            "explain", "within", "folder", "pending", "kept", "left_out", "may"}  # wherever they stand
SOMETIMES = {"classes", "unknown", "distance"}  # in some of the dataclasses


@pytest.mark.parametrize("method", RIGHT)
def test_answers_of_the_wrong_shape_name_the_field(method):
    right = RIGHT[method]
    with Lying(whole(json.dumps(right).encode())) as server:
        client = Client(server.address)
        CALLS[method](client)  # which is taken
        tries = 0
        for where, old in places(right):
            columns = where[-1:] == ("columns",) and isinstance(old, dict)
            for new in (MISSING, None, True, 7, 7.5, 1e300, "x", [], {}, [[]], [{}]):
                alike = type(new) is type(old) and new != [[]] and new != [{}]
                if alike or isinstance(new, int) and isinstance(old, float) and new is not True:
                    continue  # a value as good as any
                if new is MISSING and (not where or isinstance(where[-1], int)) or new in ([[]], [{}]) and columns:
                    continue
                if new is MISSING or new is None:
                    if where and (where[-1] in OPTIONAL | SOMETIMES or where[-2:-1] == ("numbers",)):
                        continue
                if new == 1e300 and isinstance(old, float):
                    continue
                tries += 1
                server.tell = whole(json.dumps(changed(right, where, new)).encode())
                with pytest.raises(kindred_ml.KindredError) as caught:
                    CALLS[method](client)
                    pytest.fail(f"{method}: {named(where)} is {new!r}")
                text = str(caught.value)
                if where:
                    assert named(where) in text, (where, new, text)
        assert tries >= 8
        for where, old in places(right):  # numbers that are none
            if isinstance(old, float):
                text = json.dumps(changed(right, where, "@")).replace('"@"', "1e999")
                server.tell = whole(text.encode())
                with pytest.raises(kindred_ml.KindredError) as caught:
                    CALLS[method](client)
                assert named(where) in str(caught.value)


@pytest.mark.parametrize("method", ["add_photo", "put_photo", "change"])
@pytest.mark.parametrize("ids", [[], ["a", "b"]])
def test_one_item_was_sent(method, ids):
    with Lying(whole(json.dumps({"ids": ids}).encode())) as server:
        with pytest.raises(kindred_ml.KindredError, match=f"tells of {len(ids)} items, but one was sent"):
            CALLS[method](Client(server.address))


def test_points_that_are_cut_off():
    with Lying(whole(b"1234567")) as server:
        with pytest.raises(kindred_ml.KindredError, match="7 bytes, not 8 for each point"):
            Client(server.address).map_points(1)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
@pytest.mark.parametrize("name", ["has a body without end", "has chunks without end", "announces a terabyte",
                                  "is many lists", "has a problem without end"])
def test_memory_is_bounded(name):
    """A process of its own, with the default limits, takes a fraction of what was sent."""
    script = textwrap.dedent("""
        import re, sys
        sys.path.insert(0, sys.argv[1])
        import kindred_ml
        client = kindred_ml.Client(sys.argv[2], timeout=20)
        for method in (client.info, client.metrics):
            try:
                method()
            except kindred_ml.KindredError as e:
                print(str(e)[:200], file=sys.stderr)
        with open("/proc/self/status") as file:
            print(re.search(r"VmHWM:\\s+(\\d+) kB", file.read())[1])
    """)
    with Lying({**BROKEN, **EMPTY}[name]) as server:
        done = subprocess.run([sys.executable, "-c", script, PACKAGE, server.address], capture_output=True, text=True,
                              timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 300 << 10, done.stderr


@pytest.mark.parametrize("address", ["127.0.0.1:7700", "ftp://a", "http://", "http://a:b", "http://a:99999",
                                     "http://u:p@a", "http://a/?b=c", "http://a/#b", "http://a b", "http://a\n",
                                     "http://[::1"])
def test_addresses_that_are_none(address):
    with pytest.raises(ValueError, match="must be http:// or https://, a host and a port"):
        Client(address)


def test_settings_that_are_none():
    for bad in ({"timeout": 0}, {"timeout": -1}, {"timeout": float("nan")}, {"largest": 0}, {"key": "a\r\nX: b"},
                {"key": "ü"}):
        with pytest.raises(ValueError):
            Client(**bad)
    with Lying(whole(b'{"ids": []}')) as server:
        assert Client(server.address, timeout=float("inf")).put([]) == []
