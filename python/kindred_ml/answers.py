"""What a server answers, as its openapi.json describes it: a dataclass for each schema.

A field that an answer may leave out is None then. ``class`` is a word of Python's: that field is called
``class_``.
"""

import dataclasses
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
    """A distance for a rate of errors, with what was measured at it."""

    rate: float
    distance: float
    measured: float
    bound: float
    true_match: float
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
    calibration: Optional[Calibration] = None


@dataclasses.dataclass(frozen=True)
class Info:
    """What the server serves: its first collection is meant where a request names none."""

    version: str
    collections: List[Collection]
    limits: Dict
    review: Optional[str] = None


@dataclasses.dataclass(frozen=True, eq=False)
class Item:
    """An item of a collection."""

    id: str
    path: Optional[str] = None
    columns: Optional[Dict] = None
    vector: Optional[np.ndarray] = None


@dataclasses.dataclass(frozen=True, eq=False)
class Hit:
    """An item that was found, with the probability ``same`` where there is a calibration."""

    id: str
    distance: float
    path: Optional[str] = None
    columns: Optional[Dict] = None
    vector: Optional[np.ndarray] = None
    same: Optional[float] = None


@dataclasses.dataclass(frozen=True, eq=False)
class Found:
    """What a search found, nearest first. A notebook shows it with pictures whose files are here."""

    collection: str
    distance: str
    neighbours: List[Hit]
    vector: Optional[np.ndarray] = None
    itself: Optional[List[str]] = None

    def _repr_html_(self):
        return table([{"id": n.id, "path": n.path, "distance": n.distance, "same": n.same, **(n.columns or {})}
                      for n in self.neighbours])


@dataclasses.dataclass(frozen=True)
class Listed:
    """A page of items; ``next`` is the next page's ``after``, empty at the end.

    ``passed`` is how many items pass the filter, if a seed drew the order.
    """

    items: List[Item]
    next: str
    passed: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Identified:
    """Who or what it is, or that it is unknown."""

    collection: str
    photos: int
    items: int
    classes: int
    label: str
    probability: float
    unknown: bool
    nearest: float
    within: float
    runner_up: Optional[str] = None
    runner_up_probability: Optional[float] = None
    set: Optional[List[str]] = None
    by_class: int = 0


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
class Explanation:
    """What was found, and what is true of it."""

    collection: str
    distance: str
    label: str
    class_: str
    neighbours: List[Hit]
    shares: List[Share]
    distances: Dict
    notes: List[str]
    neighbourhood: Optional[Neighbourhood] = None
    itself: Optional[List[str]] = None


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
    """A column of a map's items: numbers, or the place ``of`` each item's class in ``classes``."""

    name: str
    kind: str
    classes: Optional[List[str]] = None
    of: Optional[List[int]] = None
    numbers: Optional[List[Optional[float]]] = None


def read(kind, document):
    """Return a document as a dataclass. Fields that are not known, as of a newer server, are left out."""
    hints = typing.get_type_hints(kind)
    values = {}
    for field in dataclasses.fields(kind):
        name = field.name.rstrip("_")
        if name in document:
            values[field.name] = _value(hints[field.name], document[name])
    return kind(**values)


def _value(hint, value):
    if value is None:
        return None
    if typing.get_origin(hint) is typing.Union:  # Optional
        hint = next(h for h in typing.get_args(hint) if h is not type(None))
    if hint is np.ndarray:
        return np.array(value, dtype=np.float32)
    if dataclasses.is_dataclass(hint):
        return read(hint, value)
    if typing.get_origin(hint) is list:
        return [_value(typing.get_args(hint)[0], v) for v in value]
    return value
