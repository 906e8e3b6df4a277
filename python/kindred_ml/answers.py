"""What a server answers, as its openapi.json describes it: a dataclass for each schema.

Commands answer searches and identifications the same way: see :mod:`kindred_ml.results`. A field that an answer may
leave out is None then. ``class`` is a word of Python's: that field is called ``class_``.
"""

import dataclasses
import functools
import json
import math
import re
import typing
from typing import Dict, List, Optional

import numpy as np

from .pictures import table


@dataclasses.dataclass(frozen=True)
class Column:
    """A column of a collection; its kind is text, number or bool."""

    name: str
    kind: str


@dataclasses.dataclass(frozen=True)
class Threshold:
    """A distance for a rate of errors, or the probability that a label needs, with what was measured at it."""

    rate: float
    measured: float
    bound: float
    true_match: float
    distance: Optional[float] = None
    needed: Optional[float] = None
    drift: float = 0.0
    condition: str = ""


@dataclasses.dataclass(frozen=True)
class Calibration:
    """What the distances of a collection mean."""

    classes: int
    photos: int
    ece: float
    label_ece: float
    false_matches: List[Threshold]
    unknown: Optional[Threshold] = None


@dataclasses.dataclass(frozen=True)
class PendingCount:
    """Removals of a followed folder that wait for a decision: ``removed`` of ``items``."""

    id: str
    removed: int
    items: int


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """Files that are not in a collection, with the reason and the first of them."""

    reason: str
    count: int
    first: List[str]


@dataclasses.dataclass(frozen=True)
class Following:
    """How a collection follows a folder; its state is comparing, embedding, current or failed.

    A caller who may only read gets the state alone: comparing or current.
    """

    state: str
    embedded: int
    to_embed: int
    folder: Optional[str] = None
    current: Optional[str] = None
    error: Optional[str] = None
    pending: Optional[PendingCount] = None
    kept: Optional[int] = None
    left_out: Optional[List[LeftOut]] = None


@dataclasses.dataclass(frozen=True)
class Collection:
    """A collection of items that the server serves."""

    name: str
    items: int
    dim: int
    distance: str
    columns: List[Column]
    label: str
    network: str
    uploads: bool
    read_only: bool
    version: int
    browse: bool
    words: bool = False
    calibration: Optional[Calibration] = None
    side: Optional[int] = None
    following: Optional[Following] = None


@dataclasses.dataclass(frozen=True)
class Info:
    """What the server serves. A request that names no collection uses the first."""

    version: str
    collections: List[Collection]
    limits: Dict
    may: Optional[str] = None
    review: Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False)
class Item:
    """An item of a collection."""

    id: str
    path: Optional[str] = None
    columns: Optional[Dict] = None
    vector: Optional[np.ndarray] = None


def _always(kind):
    """A field that every answer has, in a class after fields that may be missing."""
    return dataclasses.field(default_factory=kind)


@dataclasses.dataclass(frozen=True, eq=False)
class Neighbour:
    """An item that was found.

    Attributes
    ----------
    id : str
    label : str
        Its class; empty if it is not known.
    distance : float
    path : str or None
        Where its photo is.
    region : str or None
        The part of the photo; None for all of it.
    row : int or None
        Its row in the table that a command searched.
    columns : dict or None
        Values by column. Those called ``file.`` are what ``kindred index sync`` knows the photo's file by; frames
        leave them out.
    vector : array or None
    itself : bool or None
        Whether it is the query, found by a search that does not leave such items out.
    same : float or None
        The probability that it shows the same thing, where there is a calibration; 1 if it is the query.
    score : float or None
        With ``rerank``, the distance after re-ranking, which orders the neighbours.
    count : int or None
        With ``group_by`` or ``collapse``, the number of items found that it stands for.
    others : list of Neighbour or None
        With ``others``, further ones of these.
    """

    id: str
    label: str
    distance: float
    path: Optional[str] = None
    region: Optional[str] = None
    row: Optional[int] = None
    columns: Optional[Dict] = None
    vector: Optional[np.ndarray] = None
    itself: Optional[bool] = None
    same: Optional[float] = None
    score: Optional[float] = None
    count: Optional[int] = None
    others: Optional[List["Neighbour"]] = None

    def shown(self):
        """Return the row of a table for a notebook."""
        return {"path": self.path, "id": self.id, "label": self.label, "distance": self.distance, "same": self.same,
                "score": self.score, "count": self.count,
                **{k: v for k, v in (self.columns or {}).items() if not k.startswith("file.")}}


@dataclasses.dataclass(frozen=True)
class Provenance:
    """Where the numbers of an answer come from, in words."""

    query: str
    gallery: str
    distance: str
    steps: List[str]
    same: Optional[str] = None


# The version of the answers to searches and identifications that this package reads.
_SCHEMA = 2


@dataclasses.dataclass(frozen=True, eq=False)
class Head:
    """What was searched: the beginning of every answer to a search or an identification."""

    schema: int
    gallery: str
    items: int
    distance: str
    calibration: Optional[str] = None
    least: Optional[float] = None

    def __post_init__(self):
        if self.schema != _SCHEMA:
            raise ValueError(f"schema is {self.schema}: this kindred_ml reads {_SCHEMA}; install the version of that "
                             "kindred")


@dataclasses.dataclass(frozen=True, eq=False)
class Answer:
    """The answer to one query. A notebook shows it with pictures whose files are here."""

    neighbours: List[Neighbour] = _always(list)
    query: Optional[str] = None
    vector: Optional[np.ndarray] = None
    itself: Optional[List[str]] = None
    itself_labels: Optional[List[str]] = None
    older: Optional[List[str]] = None
    passed: Optional[int] = None
    exact: Optional[bool] = None
    explain: Optional[Provenance] = None

    def _repr_html_(self):
        return table([n.shown() for n in self.neighbours])


@dataclasses.dataclass(frozen=True, eq=False)
class Found(Answer, Head):
    """What a search found."""


@dataclasses.dataclass(frozen=True)
class Listed:
    """A page of items; ``next`` is the next page's ``after``, empty at the end.

    ``passed`` is how many items pass the filter, if a seed drew the order.
    """

    items: List[Item]
    next: str
    passed: Optional[int] = None


@dataclasses.dataclass(frozen=True, eq=False)
class IdentificationHead(Head):
    """What decided: the beginning of every answer to an identification."""

    classes: int = _always(int)
    fpir: float = _always(float)
    coverage: Optional[float] = None
    by_class: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Vote:
    """The vote of the nearest items.

    Attributes
    ----------
    label : str
        The likeliest label, also where it is unknown.
    probability : float
        That the label is right.
    unknown : bool
        Whether nothing is near enough to tell it from what no class of the gallery holds.
    runner_up : str or None
        The next likeliest label.
    runner_up_probability : float or None
    set : list of str or None
        With coverage, the labels that hold the right one with that probability.
    """

    label: str = _always(str)
    probability: float = _always(float)
    unknown: bool = _always(bool)
    runner_up: Optional[str] = None
    runner_up_probability: Optional[float] = None
    set: Optional[List[str]] = None


@dataclasses.dataclass(frozen=True)
class Identification(Vote):
    """What is on a photo, or on several photos of one thing: a :class:`Vote` with these attributes.

    Attributes
    ----------
    query : str or None
        The photo.
    answer : str
        ``picture``: the photo is an item of the gallery, and ``label`` is the item's with the probability 1 (empty,
        with 0, if there are several such items with different labels). ``label``: it shows the same thing as items
        with the label. ``unknown``: nothing is near enough for a label.
    nearest : float
        The distance of the nearest item that is not the photo; the median of several photos.
    needed : float or None
        The least probability of a label that is not unknown.
    within : float or None
        Instead of it, for classes of training, the largest distance for a label; None if every photo gets one.
    photos : int
        The number of photos of the thing.
    names : list of str or None
        The names of several photos.
    itself, itself_labels : list of str or None
        The items of the gallery that are the photo, and the label of each. They have no vote.
    others : Vote or None
        If the answer is ``picture``, the vote of the other items.
    """

    query: Optional[str] = None
    answer: str = _always(str)
    nearest: float = _always(float)
    needed: Optional[float] = None
    within: Optional[float] = None
    photos: int = _always(int)
    names: Optional[List[str]] = None
    itself: Optional[List[str]] = None
    itself_labels: Optional[List[str]] = None
    others: Optional[Vote] = None

    FIRST = ("query", "answer", "label")


@dataclasses.dataclass(frozen=True, eq=False)
class Identified(Identification, IdentificationHead):
    """The decision of a server."""


@dataclasses.dataclass(frozen=True)
class Share:
    """The share of a class among the neighbours."""

    class_: str
    count: int
    share: float
    nearest: float
    farthest: float


@dataclasses.dataclass(frozen=True)
class LocalClass:
    """A class around the query."""

    class_: str
    rows: int
    intra: float
    other: float
    nearest: str
    modes: int
    compactness: Optional[float] = None


@dataclasses.dataclass(frozen=True)
class Neighbourhood:
    """The diagnosis of collapse around the query."""

    rows: int
    state: str
    score: float
    text: str
    reasons: List[str]
    spread: float
    compactness: float
    recall: float
    classes: List[LocalClass]


@dataclasses.dataclass(frozen=True, eq=False)
class Explanation(Found):
    """The result of a search with its explanation."""

    label: str = _always(str)
    class_: str = _always(str)
    shares: List[Share] = _always(list)
    distances: Dict = _always(dict)
    notes: List[str] = _always(list)
    neighbourhood: Optional[Neighbourhood] = None


@dataclasses.dataclass(frozen=True)
class Map:
    """The state of the map of all items: computing, ready or failed."""

    collection: str
    state: str
    version: int
    items: int
    stale: bool
    method: str
    placed: int
    x: List[float]
    y: List[float]
    error: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class MapColumn:
    """A column of a map's items: numbers, or for each item ``of``, the place of its class in ``classes``."""

    name: str
    kind: str
    classes: Optional[List[str]] = None
    of: Optional[List[int]] = None
    numbers: Optional[List[Optional[float]]] = None


@dataclasses.dataclass(frozen=True)
class MapIDs:
    """The ids of a map's items, in the order of its points."""

    ids: List[str]


@dataclasses.dataclass(frozen=True)
class Written:
    """The ids of what was written, in the order of the request."""

    ids: List[str]


@dataclasses.dataclass(frozen=True)
class Deleted:
    """The number of items removed, and the items themselves if they were requested."""

    deleted: int
    items: Optional[List[Item]] = None


@dataclasses.dataclass(frozen=True)
class Edit:
    """Columns of an item to set; None removes one."""

    id: str
    columns: Dict


@dataclasses.dataclass(frozen=True)
class Edited:
    """What was changed. ``before`` has the earlier values of the columns that changed."""

    ids: List[str]
    before: List[Edit]


@dataclasses.dataclass(frozen=True)
class Label:
    """A value of a column, with its number of items and the first ids."""

    label: str
    items: int
    ids: List[str]


@dataclasses.dataclass(frozen=True)
class Labels:
    """A page of the values of a column, the number of all, and that of the items without a value."""

    labels: List[Label]
    total: int
    missing: int


@dataclasses.dataclass(frozen=True)
class Picture:
    """The name of a kept picture."""

    picture: str


@dataclasses.dataclass(frozen=True)
class PendingItem:
    """An item whose photo is missing."""

    id: str
    label: str
    path: str


@dataclasses.dataclass(frozen=True)
class Pending:
    """Removals that wait for a decision, with a page of the items; ``next`` is 0 at the end."""

    id: str
    removed: int
    items: int
    since: str
    list: List[PendingItem]
    next: int


@dataclasses.dataclass(frozen=True)
class PendingAnswer:
    """What waits for a decision; None if nothing does."""

    pending: Optional[Pending]


@dataclasses.dataclass(frozen=True)
class State:
    """What /readyz answers."""

    status: str


@dataclasses.dataclass(frozen=True)
class Problem:
    """What is wrong with a request, and what to do about it."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    fix: str
    request_id: str


# The most objects and lists in an answer. An empty one takes 20 times the memory of its two letters.
_NESTS = 1 << 20
# The most digits of a whole number: reading longer ones takes the square of their number.
_DIGITS = 30


def document_of(content):
    """Return the document that a JSON text is.

    Raises
    ------
    ValueError
        If it is not JSON, is nested too deeply, or has invalid numbers or texts.
    """
    text = content.decode("utf-8")
    if text.count("{") + text.count("[") > _NESTS:
        raise ValueError(f"more than {_NESTS} objects and lists")
    try:
        document = json.loads(text, parse_constant=_no_number, parse_int=_whole)
    except RecursionError as e:
        raise ValueError("objects and lists inside each other too deeply") from e
    if _HALF.search(text):
        json.dumps(document, ensure_ascii=False).encode("utf-8")  # half a character is refused by this
    return document


# What may be half a character.
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def _no_number(text):
    raise ValueError(f"{text} is not a JSON number")


def _whole(text):
    return int(text) if len(text) <= _DIGITS else float(text)


def read(kind, document, where=""):
    """Return a document as a dataclass. Unknown fields, from a newer server for example, are left out.

    Raises
    ------
    ValueError
        If a field is missing, or is not what the dataclass says: it is named.
    """
    if not isinstance(document, dict):
        raise _not("an object", document, where)
    values = {}
    for name, key, hint, optional in _fields(kind):
        place = f"{where}.{key}" if where else key
        if key in document:
            values[name] = _value(hint, document[key], place)
        elif not optional:
            raise ValueError(f"{place} is missing")
    return kind(**values)


@functools.lru_cache(maxsize=None)
def _fields(kind):
    """The fields of a dataclass: name, key in the document, type, and whether it may be missing."""
    hints = typing.get_type_hints(kind)
    return [(f.name, f.name.rstrip("_"), hints[f.name], f.default is not dataclasses.MISSING)
            for f in dataclasses.fields(kind)]


_WANT = {str: "a text", bool: "true or false", int: "a whole number", float: "a number", dict: "an object",
         list: "a list"}


def _value(hint, value, where):
    if typing.get_origin(hint) is typing.Union:  # Optional
        if value is None:
            return None
        hint = next(h for h in typing.get_args(hint) if h is not type(None))
    if dataclasses.is_dataclass(hint):
        return read(hint, value, where)
    if hint is np.ndarray:
        values = _value(List[float], value, where)
        for k, v in enumerate(values):
            if abs(v) > _LARGEST:
                raise _not("a number of a vector", v, f"{where}[{k}]")
        return np.array(values, dtype=np.float32)
    origin = typing.get_origin(hint) or hint
    wanted = (int, float) if origin is float else (origin,)
    if type(value) not in wanted or origin is float and math.isinf(value):
        raise _not(_WANT[origin], value, where)
    if origin is dict:
        for k, v in value.items():
            if isinstance(v, float) and math.isinf(v):
                raise _not(_WANT[float], v, f"{where}.{k}")
    if origin is list:
        inner = typing.get_args(hint)[0]
        return [_value(inner, v, f"{where}[{k}]") for k, v in enumerate(value)]
    return float(value) if origin is float else value


# The largest float32.
_LARGEST = float(np.finfo(np.float32).max)


def _not(want, value, where):
    text = _WANT[type(value)] if isinstance(value, (dict, list)) else json.dumps(value)
    text = text if len(text) <= 60 else text[:60] + "..."
    return ValueError(f"{where or 'it'} is {text}: want {want}")
