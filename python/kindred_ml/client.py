"""A client of ``kindred serve``."""

import http.client
import json
import math
import os
import secrets
import time
import urllib.error
import urllib.parse

import numpy as np

from .answers import (Deleted, Edit, Edited, Explanation, Found, Identified, Info, Item, Labels, Listed, Map, MapColumn,
                      MapIDs, PendingAnswer, Picture, Problem, State, Written, document_of, read)
from .errors import KindredError, ServerError
from .exchange import Exchange, TooLong
from .images import encoded, is_image, listed

_LOCAL = ("127.0.0.1", "localhost", "::1")

# The most ids of a map in one answer, and so what is asked for.
_MAP_IDS = 100000


class Client:
    """Speaks to one server.

    Parameters
    ----------
    address : str
        Such as ``http://127.0.0.1:7700``.
    key : str, optional
        A key of ``kindred serve key``, sent with every request.
    collection : str, optional
        The collection that requests are about; by default the server's first.
    timeout : float
        Seconds that a request may take in all: until it is connected and sent, with the waits in between where it is
        sent again, and until the last byte of the answer is here. :meth:`items`, :meth:`map_ids` and a
        :meth:`map` that waits send several requests.
    retries : int
        How often a request is sent again that the server had no room for (429, 503).
    longest : float
        The longest wait before that, in seconds; where the server asks for more, its answer is the error.
    largest : int
        The most bytes of an answer, and of all answers of :meth:`map_ids` together; 64 MiB by default. Maps of many
        millions of items take more.

    Notes
    -----
    The types of the answers are in :mod:`kindred_ml.answers`. What the server refuses is a
    :class:`kindred_ml.ServerError` with its words, and so is a server that is not reached or breaks off: its status
    is None. An answer that no kindred serve gives is a :class:`kindred_ml.KindredError`. No redirect is followed: it
    could take the key to another server.
    """

    def __init__(self, address="http://127.0.0.1:7700", key=None, collection=None, timeout=60, retries=4, longest=30,
                 largest=64 << 20):
        parts = _parts(address)
        if not timeout > 0:
            raise ValueError(f"a timeout of {timeout!r}: want seconds above 0")
        if not largest > 0:
            raise ValueError(f"answers of at most {largest!r} bytes: want a number above 0")
        if key and not (key.isascii() and key.isprintable()):
            raise ValueError("the key has characters that a key cannot have, such as the end of a line: strip it")
        self.address = address.rstrip("/")
        self.collection = collection
        self.timeout = timeout
        self.retries = retries
        self.longest = longest
        self.largest = largest
        self._key = key
        # A proxy of the environment is not asked for this machine.
        self._exchange = Exchange(proxies=parts.hostname not in _LOCAL)

    def __repr__(self):
        return f"Client({self.address!r})"

    # What is served.

    def ready(self):
        """Return whether the server is ready for requests."""
        try:
            self._read(State, "GET", "/readyz", retries=0)
        except ServerError:
            return False
        return True

    def info(self):
        """Return the collections and the limits, as :class:`~kindred_ml.answers.Info`."""
        return self._read(Info, "GET", "/v1/info")

    def openapi(self):
        """Return the description of all requests, as a dict."""
        document = self._json("GET", "/openapi.json")
        if not isinstance(document, dict):
            raise self._strange("GET", "/openapi.json", "is not an object")
        return document

    def metrics(self):
        """Return the measurements for Prometheus, as text."""
        content = self._bytes("GET", "/metrics")
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as e:
            raise self._strange("GET", "/metrics", f"is not text: {e}") from e

    # Questions.

    def search(self, photo=None, id=None, vector=None, k=None, filter=None, columns=None, vectors=None, least=None,
               except_itself=None, *, text=None, like=None, unlike=(), group_by=None, collapse=None, others=None,
               diverse=None, rerank=None, explain=None, picture=None):
        """Find the items nearest to a photo, an item, a vector, words or a sum.

        Parameters
        ----------
        photo : str, path, bytes or image, optional
            A picture's file, its content, or an array or image as :func:`kindred_ml.embed` takes them.
        id : str, optional
            An item of the collection.
        vector : array of shape (d,), optional
        k : int, optional
            How many; 10 by default.
        filter : str, optional
            Which items count: ``'price < 20 and category = "shoe"'``.
        columns : sequence of str, optional
            The columns of the answer; by default all.
        vectors : bool, optional
            Whether vectors are in the answer.
        least : float, optional
            Leaves out what is the same thing with a smaller probability.
        except_itself : bool, optional
            Whether to leave out the items that are the query itself: the same file, a copy of it or, where one
            of both has no file at the server, an equal vector. ``itself`` of the answer has their ids.
        text : str, optional
            Words, of a collection that takes them.
        like, unlike : sequence, optional
            The query is the sum of what is in ``like`` less what is in ``unlike``, each of unit length: photos, and
            dicts such as ``{"id": "boot"}``, ``{"text": "with laces"}`` and ``{"vector": x}``.
        group_by : str, optional
            A column: of the items with the same value only the first is shown.
        collapse : float, optional
            A distance: of items at most this far from one that is shown only that one is shown.
        others : int, optional
            The most further items of each such group to be listed with it.
        diverse : float, optional
            The weight, from 0 to 1, of being unlike the neighbours before.
        rerank : 'alpha-qe' or 'k-reciprocal', optional
            Orders the first items anew.
        explain : bool, optional
            Whether ``explain`` of the answer says where its numbers come from.
        picture : str, optional
            A picture that :meth:`keep_picture` has sent, in place of a photo.

        Returns
        -------
        Found
        """
        return self._asked(Found, "/v1/search", photo, id, vector, text, like, unlike, columns, picture, k=k, filter=filter,
                           vectors=vectors, least=least, except_itself=except_itself, group_by=group_by,
                           collapse=collapse, others=others, diverse=diverse, rerank=rerank, explain=explain)

    def explain(self, photo=None, id=None, vector=None, k=None, *, text=None, like=None, unlike=(), columns=None,
                picture=None, **options):
        """Find as :meth:`search` does, with an explanation. The answer is an ``Explanation``."""
        return self._asked(Explanation, "/v1/explain", photo, id, vector, text, like, unlike, columns, picture, k=k,
                           **options)

    def identify(self, photos=None, ids=None, vectors=None, fpir=None, estimate=None, strangers=None,
                 coverage=None, by_class=None, picture=None):
        """Identify a photo: its class, or that it is unknown.

        Parameters
        ----------
        photos : str, path, bytes, image or sequence of these, optional
            Photos of one thing, up to 16.
        ids : sequence of str, optional
            Items of the collection that show it.
        vectors : array of shape (n, d), optional
        fpir, strangers, coverage : float, optional
        estimate : bool, optional
            As in :func:`kindred_ml.identify`.
        by_class : bool, optional
            Whether the set of ``coverage`` goes by a class's own items, where it has enough; by default
            as far as that takes no more neighbours than the server allows.
        picture : str, optional
            A picture that :meth:`keep_picture` has sent.

        Returns
        -------
        Identified
        """
        values = {"fpir": fpir, "estimate": estimate, "strangers": strangers, "coverage": coverage, "by_class": by_class}
        if photos is not None:
            if ids is not None or vectors is not None or picture is not None:
                raise ValueError("photos are identified without vectors, ids and a kept picture")
            return self._form(Identified, "POST", "/v1/identify", listed(photos), values)
        if vectors is not None:
            values["vectors"] = np.atleast_2d(np.asarray(vectors, dtype=np.float32)).tolist()
        values["picture"] = picture
        values["ids"] = None if ids is None else [ids] if isinstance(ids, str) else list(ids)
        return self._send(Identified, "POST", "/v1/identify", values)

    # Items.

    def items(self, filter=None, vectors=False, limit=None):
        """Iterate over all items in the order of their ids, page by page.

        Parameters
        ----------
        filter : str, optional
        vectors : bool
            Whether the items come with their vectors.
        limit : int, optional
            Items of a page.

        Yields
        ------
        Item
        """
        after, before = None, set()
        while True:
            page = self.page(after, filter, vectors, limit)
            if page.next and (not page.items or page.next in before):
                raise self._strange("GET", "/v1/items", f"has {len(page.items)} items after {after!r} and continues "
                                    f"after {page.next!r}, without end")
            yield from page.items
            if not page.next:
                return
            after = page.next
            before.add(after)

    def page(self, after=None, filter=None, vectors=False, limit=None, seed=None, like=None):
        """Return one page of items, as ``Listed``: those after an id.

        With a ``seed`` they come in an order that it draws, and ``passed`` says how many pass the filter; with
        ``like`` the items come whose ids are like this text. Both take a collection with ``browse``.
        """
        query = {"after": after, "filter": filter, "limit": limit, "vectors": "true" if vectors else None,
                 "seed": seed, "like": like}
        return self._read(Listed, "GET", "/v1/items", query)

    def get(self, id):
        """Return an item with its vector."""
        return self._read(Item, "GET", _item(id))

    def add(self, items):
        """Add items with their vectors; if one of the ids is there already, none is added.

        Parameters
        ----------
        items : sequence of Item or dict
            With ``id``, ``vector``, and perhaps ``columns`` and ``path``.

        Returns
        -------
        list of str
            The ids.
        """
        return self._send(Written, "POST", "/v1/items", {"items": [_document(i) for i in items]}).ids

    def put(self, items):
        """Add items or replace those that are there: see :meth:`add`."""
        return self._send(Written, "PUT", "/v1/items", {"items": [_document(i) for i in items]}).ids

    def add_photo(self, photo, id=None, columns=None):
        """Add an item by its photo.

        Parameters
        ----------
        photo : str, path, bytes or image
        id : str, optional
            By default it follows from the picture's content.
        columns : dict, optional

        Returns
        -------
        str
            The id.
        """
        return self._photo("POST", photo, id, columns)

    def put_photo(self, photo, id=None, columns=None):
        """Add an item by its photo, or replace it: see :meth:`add_photo`."""
        return self._photo("PUT", photo, id, columns)

    def change(self, id, columns=None, vector=None, path=None):
        """Give an item other columns, and another vector and path if there are any."""
        document = _document({"columns": columns, "vector": vector, "path": path})
        return self._one("PUT", _item(id), self._send(Written, "PUT", _item(id), document))

    def edit(self, id, columns):
        """Set single columns of an item; None removes one. The answer, ``Edited``, undoes it: ``edit_all(it.before)``."""
        return self._send(Edited, "PATCH", _item(id), {"columns": columns})

    def edit_all(self, items=None, *, ids=None, columns=None):
        """Set single columns of items, of all or of none.

        Parameters
        ----------
        items : sequence of Edit or dict, optional
            With ``id`` and ``columns``.
        ids : sequence of str, optional
            Items that all get the ``columns``.
        columns : dict, optional

        Returns
        -------
        Edited
        """
        if items is not None:
            items = [{"id": i.id, "columns": i.columns} if isinstance(i, Edit) else i for i in items]
        document = {"items": items, "ids": None if ids is None else list(ids), "columns": columns}
        return self._send(Edited, "PATCH", "/v1/items", document)

    def take(self, *ids):
        """Remove items and return them. For an hour, :meth:`put` brings them back with their uploaded pictures."""
        return self._send(Deleted, "DELETE", "/v1/items", {"ids": list(ids), "keep": True}).items or []

    def labels(self, column=None, filter=None, limit=None, start=None, sort=None):
        """Return a page of the values of a column, by default of the classes, as ``Labels``.

        ``start`` is the number of labels before the page; ``sort`` is ``"count"`` or ``"name"``.
        """
        query = {"column": column, "filter": filter, "limit": limit, "from": start, "sort": sort}
        return self._read(Labels, "GET", "/v1/labels", query)

    def keep_picture(self, photo):
        """Let the server keep a picture in memory for a while. Its name can be searched with: ``search(picture=...)``."""
        return self._form(Picture, "POST", "/v1/pictures", [photo], {}).picture

    def kept_picture(self, digest):
        """Return a kept picture: the content of its file."""
        _check_text(digest, "digest")
        digest = urllib.parse.quote(digest, safe="")
        return self._bytes("GET", f"/v1/pictures/{digest}")

    def pending(self, start=None, limit=None):
        """Return the removals of a followed folder that wait for a decision, as ``Pending``; None if none do."""
        return self._read(PendingAnswer, "GET", "/v1/sync/pending", {"from": start, "limit": limit}).pending

    def decide(self, id, decision):
        """Decide about the removals of :meth:`pending` with that id: ``"remove"`` or ``"keep"``."""
        state = self._send(State, "POST", "/v1/sync/pending", {"id": id, "decision": decision})
        if state.status != decision:
            raise self._strange("POST", "/v1/sync/pending", f"is {state.status!r}: want {decision!r}")

    def remove(self, *ids):
        """Remove items, and return how many of them were there."""
        return self._send(Deleted, "DELETE", "/v1/items", {"ids": list(ids)}).deleted

    def picture(self, id):
        """Return the picture of an item: the content of its file."""
        return self._bytes("GET", _item(id) + "/picture")

    def thumbnail(self, id, size=192):
        """Return the picture of an item, small: a JPEG whose longer side has that many pixels."""
        return self._bytes("GET", _item(id) + "/thumbnail", {"size": size})

    # The map.

    def map(self, wait=None):
        """Return the state of the map of all items.

        Parameters
        ----------
        wait : float, optional
            Seconds to wait until it is computed; by default the state is returned as it is.

        Returns
        -------
        Map
        """
        end = None if wait is None else time.monotonic() + wait
        while True:
            state = self._read(Map, "GET", "/v1/map")
            if end is None or state.state != "computing" or time.monotonic() >= end:
                return state
            time.sleep(0.2)

    def map_points(self, version):
        """Return x and y of every item of a map: an array of shape (n, 2)."""
        content = self._bytes("GET", "/v1/map/points", {"version": version})
        if len(content) % 8:
            raise self._strange("GET", "/v1/map/points", f"has {len(content)} bytes, not 8 for each point")
        return np.frombuffer(content, dtype="<f4").astype(np.float32).reshape(-1, 2)

    def map_ids(self, version):
        """Return the ids of a map's items, in the order of its points."""
        ids, room = [], self.largest
        while True:
            query = {"version": version, "from": len(ids), "count": _MAP_IDS}
            more = self._read(MapIDs, "GET", "/v1/map/ids", query).ids
            room -= sum(len(id) + 3 for id in more)
            if len(more) > _MAP_IDS or room < 0:
                raise KindredError(f"GET /v1/map/ids: the answers of {self.address} are longer than {self.largest} "
                                   "bytes, or longer than requested: Client(largest=...) allows longer ones")
            ids += more
            if len(more) < _MAP_IDS:
                return ids

    def map_column(self, version, name):
        """Return a column of a map's items, as ``MapColumn``."""
        return self._read(MapColumn, "GET", "/v1/map/column", {"version": version, "name": name})

    # How requests are sent.

    def _asked(self, kind, path, photo, id, vector, text, like, unlike, columns, picture, **values):
        if sum(asked is not None for asked in (photo, id, vector, text, like, picture)) != 1:
            raise ValueError("a search takes one of a photo, an id, a vector, a text, a picture and like")
        if like is None and len(unlike):
            raise ValueError("unlike is subtracted from like: give both")
        values = {name: None if value is False else value for name, value in values.items()}
        photos = [] if photo is None else [photo]
        terms = None if like is None else [*_terms(like, photos), *_terms(unlike, photos, minus=True)]
        if photos:
            values["terms"] = None if terms is None else json.dumps(terms)
            values["columns"] = None if columns is None else ",".join(columns)
            return self._form(kind, "POST", path, photos, values)
        values.update(id=id, text=text, terms=terms, picture=picture, vector=None if vector is None else _vector(vector),
                      columns=None if columns is None else list(columns))
        return self._send(kind, "POST", path, values)

    def _photo(self, method, photo, id, columns):
        values = {"id": id, "columns": None if columns is None else json.dumps(columns, ensure_ascii=False)}
        return self._one(method, "/v1/items", self._form(Written, method, "/v1/items", [photo], values))

    def _one(self, method, path, written):
        if len(written.ids) != 1:
            raise self._strange(method, path, f"tells of {len(written.ids)} items, but one was sent")
        return written.ids[0]

    def _send(self, kind, method, path, document):
        document = {k: v for k, v in document.items() if v is not None}
        _check_text(document)
        return self._read(kind, method, path, body=json.dumps(document).encode(), content_type="application/json")

    def _form(self, kind, method, path, photos, values):
        boundary = secrets.token_hex(16)
        parts = []
        _check_text(values)
        for photo in photos:
            if is_image(photo):
                photo = encoded(photo, "the photo")
            if not isinstance(photo, (bytes, bytearray)):
                _check_text(photo, "the photo's path", os.fsencode)
                with open(photo, "rb") as file:
                    photo = file.read()
            parts.append(b'Content-Disposition: form-data; name="image"; filename="picture"\r\n'
                         b"Content-Type: application/octet-stream\r\n\r\n" + bytes(photo))
        for name, value in values.items():
            if value is not None:
                value = str(value).lower() if isinstance(value, bool) else str(value)
                parts.append(f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode())
        edge = b"--" + boundary.encode()
        body = b"".join(edge + b"\r\n" + part + b"\r\n" for part in parts) + edge + b"--\r\n"
        return self._read(kind, method, path, body=body, content_type=f"multipart/form-data; boundary={boundary}")

    def _read(self, kind, method, path, query=None, body=None, content_type=None, retries=None):
        """Send a request and read its answer as a dataclass."""
        document = self._json(method, path, query, body, content_type, retries)
        try:
            return read(kind, document)
        except ValueError as e:
            raise self._strange(method, path, f"is not one of kindred serve: {e}") from e

    def _json(self, method, path, query=None, body=None, content_type=None, retries=None):
        content = self._bytes(method, path, query, body, content_type, retries)
        try:
            return document_of(content)
        except ValueError as e:
            raise self._strange(method, path, f"is not JSON: {e}") from e

    def _strange(self, method, path, what):
        """The error of a whole answer that kindred serve does not give."""
        return KindredError(f"{method} {path}: the answer of {self.address} {what}: check which program listens there, "
                            "and whether a proxy changes answers")

    def _bytes(self, method, path, query=None, body=None, content_type=None, retries=None):
        query = {k: v for k, v in (query or {}).items() if v is not None}
        if self.collection is not None:
            query["collection"] = self.collection
        _check_text(query)
        target = self.address + path + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {"Accept": "*/*"}
        if content_type:
            headers["Content-Type"] = content_type
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        retries = self.retries if retries is None else retries
        end = time.monotonic() + self.timeout
        for attempt in range(retries + 1):
            status, header, content = self._sent(method, path, target, body, headers, end)
            if status // 100 == 2:
                return content
            problem = _problem(self.address, status, header, content)
            wait = max(0.2 * 2**attempt, problem.retry_after or 0)
            # A request that was begun too late may have been done in part: it is not repeated.
            again = status in (429, 503) and not (problem.code == "late" and method in ("POST", "PATCH"))
            if not again or attempt == retries or wait > min(self.longest, end - time.monotonic()):
                raise problem
            time.sleep(wait)

    def _sent(self, method, path, target, body, headers, end):
        """Send a request once. What goes wrong on the way is a KindredError."""
        try:
            return self._exchange.send(method, target, body, headers, end, self.largest)
        except TooLong as e:
            raise KindredError(f"{method} {path}: the answer of {self.address} is longer than {self.largest} bytes: "
                               "Client(largest=...) allows longer ones") from e
        except (OSError, ValueError, http.client.HTTPException) as e:
            if time.monotonic() >= end:
                raise ServerError(None, "timeout", f"{self.address} has not answered {method} {path} within "
                                  f"{self.timeout:g} s", "ask again, or give Client a longer timeout") from e
            if isinstance(e, (urllib.error.URLError, ConnectionError)):
                raise ServerError(None, "unreachable", f"{self.address} does not answer: {getattr(e, 'reason', e)}",
                                  "start kindred serve there, or correct the address") from e
            raise ServerError(None, "broken", f"{self.address} broke off its answer to {method} {path}: "
                              f"{str(e)[:200] or type(e).__name__}", "ask again; check which program listens there, "
                              "and whether a proxy breaks answers off") from e


def _problem(address, status, headers, content):
    """Return the error of an answer with an error status. For another program's answer it quotes the beginning."""
    try:
        retry_after = float(headers.get("Retry-After", ""))
    except ValueError:
        retry_after = None
    else:
        retry_after = retry_after if 0 <= retry_after < math.inf else None
    try:
        if headers.get_content_type() != "application/problem+json":
            raise ValueError
        problem = read(Problem, document_of(content))
        return ServerError(status, problem.code, problem.detail, problem.fix, problem.request_id, retry_after)
    except ValueError:
        text = content[:200].decode("utf-8", "replace")
    if status // 100 == 3:
        fix = (f"it redirects to {headers.get('Location', '')[:200]!r}; nothing was sent there, nor was the key: if "
               "that is the server, give Client that address")
    else:
        fix = f"check which program listens at {address}: it does not answer like kindred serve"
    return ServerError(status, "unknown", f"the server answered {text!r}", fix, retry_after=retry_after)


def _parts(address):
    """The parts of an address that a server can have."""
    try:
        parts = urllib.parse.urlsplit(address)
        good = (parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and "@" not in parts.netloc and
                not parts.query and not parts.fragment and address.isprintable() and " " not in address)
    except ValueError:
        good = False
    if not good:
        raise ValueError(f"the address {address!r}: must be http:// or https://, a host and a port")
    return parts


def _check_text(value, name="the request", encode=lambda text: text.encode("utf-8")):
    """Raise a KindredError that names the text in a value, at any depth, that no request can hold.

    JSON would carry half a character as an escape, and the server would read another id.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_text(key, f"a name in {name}", encode)
            _check_text(inner, str(key), encode)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            _check_text(inner, name, encode)
    elif isinstance(value, (str, os.PathLike)):
        try:
            encode(os.fspath(value))
        except UnicodeEncodeError as e:
            part = value[max(0, e.start - 30):e.start + 30] if isinstance(value, str) else value
            raise KindredError(f"{name} is {part!r}: it has half a character (a surrogate, U+D800 to U+DFFF) at "
                               f"{e.start}: only whole characters of Unicode can be sent: correct the text") from e


def _terms(parts, photos, **sign):
    """The terms of a sum as the server reads them. Those that are photos are added to photos."""
    for part in listed(parts):
        if isinstance(part, dict) and "bytes" not in part:
            part = {**part, "vector": _vector(part["vector"])} if "vector" in part else part
        else:
            photos.append(part)
            part = {"picture": len(photos) - 1}
        _check_text(part, "a term")
        yield {**part, **sign}


def _vector(values):
    """A vector as JSON has it."""
    return np.asarray(values, dtype=np.float32).ravel().tolist()


def _item(id):
    _check_text(id, "id")
    return "/v1/items/" + urllib.parse.quote(id, safe="")


def _document(item):
    """An item as the server reads it, without missing values."""
    if isinstance(item, Item):
        item = {"id": item.id, "path": item.path, "columns": item.columns, "vector": item.vector}
    item = {k: v for k, v in item.items() if v is not None}
    if "vector" in item:
        item["vector"] = _vector(item["vector"])
    return item
