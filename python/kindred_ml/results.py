"""What searches and decisions answer, as rows: a pandas frame, or a list of dataclasses."""

import dataclasses
import importlib.util
from typing import List

from . import answers
from .answers import Answer, Head, Identification, IdentificationHead, read
from .images import called
from .pictures import table


@dataclasses.dataclass(frozen=True, eq=False)
class Neighbour(answers.Neighbour):
    """A photo or an item that a command found: what :class:`kindred_ml.answers.Neighbour` has, and two more.

    Attributes
    ----------
    query : str
        What was asked with.
    rank : int
        1 for the nearest.
    """

    query: str = ""
    rank: int = 0

    FIRST = ("query", "rank", "path", "label", "distance")

    def shown(self):
        return {"query": self.query, "rank": self.rank, **super().shown()}


@dataclasses.dataclass(frozen=True)
class _Searched(Head):
    """What ``kindred search`` and ``kindred index search`` print."""

    queries: List[Answer] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class _Decided(IdentificationHead):
    """What ``kindred identify`` prints."""

    queries: List[Identification] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Suspect:
    """An item that may be wrong in its set.

    Attributes
    ----------
    row : int
        Its number in the set, the file or the array, from 0.
    path : str
        Where the photo is; empty if it is not known.
    label : str
    suggested : str
        The label that it should have; empty if something else is wrong.
    score : float
    reason : str
        What is wrong, in words.
    id : str
        The id of the item, as in ``suspects.csv``.
    """

    row: int
    path: str
    label: str
    suggested: str
    score: float
    reason: str
    id: str = ""


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of things in a class.

    Attributes
    ----------
    label : str
        The class.
    kind : str
        The name of the kind; that of the class if it is in one piece.
    items : int
    stability : float
        How much of it comes back when a fifth of the items is left out.
    p : float
        The probability that a class of one kind would have gaps as wide.
    path : str
        The item in the middle; empty if its file is not known.
    """

    label: str
    kind: str
    items: int
    stability: float
    p: float
    path: str


class Rows(list):
    """A list of dataclasses, such as :class:`Neighbour`, that a notebook shows with pictures."""

    def _repr_html_(self):
        return table([row.shown() if isinstance(row, Neighbour) else dataclasses.asdict(row) for row in self])


def neighbours(document, vectors=False, written=()):
    """The rows of the answer of ``kindred search`` or ``kindred index search``.

    With ``vectors`` the queries were no photos but rows of an array: ``vector 0``, ``vector 1``. Photos in the
    folders ``written`` were images in memory: ``photo 0``.
    """
    out = Rows()
    for k, answer in enumerate(read(_Searched, document).queries):
        query = f"vector {k}" if vectors else called(answer.query or "", *written)
        for rank, n in enumerate(answer.neighbours, 1):
            named = {"id": called(n.id, *written), "path": called(n.path, *written)}
            out.append(Neighbour(**{**vars(n), **named}, query=query, rank=rank))
    return out


def decisions(document, vectors=False, written=()):
    """The rows of the answer of ``kindred identify``; ``vectors`` and ``written`` as in :func:`neighbours`."""
    return Rows(dataclasses.replace(d, query=f"vector {k}" if vectors else called(d.query or "", *written))
                for k, d in enumerate(read(_Decided, document).queries))


def shown(rows, kind, as_frame, document, **more):
    """Return rows as they are wanted.

    Their ``attrs["document"]`` is what the command printed, of a frame without its ``queries``, which are the rows.

    Parameters
    ----------
    rows : Rows
    kind : type
        Of the rows, whose fields are the frame's columns.
    as_frame : bool or None
        Whether to make a pandas frame; None: if pandas is installed. The frame has the fields of ``kind.FIRST`` first,
        and leaves out other fields that may be missing where no row has a value. The columns of items follow.
    document : dict
    **more
        Further ``attrs``.
    """
    out = rows
    if framed(as_frame):  # pandas copies attrs with every part of a frame
        out, document = _framed(rows, kind), {k: v for k, v in document.items() if k != "queries"}
    out.attrs = {"document": document, **more}
    return out


def framed(as_frame):
    """Whether to make a pandas frame: as_frame, or with None if pandas is installed."""
    return importlib.util.find_spec("pandas") is not None if as_frame is None else as_frame


def _framed(rows, kind):
    from .frame import PhotoFrame
    first = getattr(kind, "FIRST", ())
    columns = dict.fromkeys(first)
    for field in dataclasses.fields(kind):
        values = [getattr(row, field.name) for row in rows]
        if field.name in first or field.default is dataclasses.MISSING or \
                any(v is not None and v != "" and v != [] for v in values):
            columns[field.name] = values
    items = columns.pop("columns", [])
    for name in dict.fromkeys(name for item in items for name in item or {}):
        if name not in columns and not name.startswith("file."):
            columns[name] = [(item or {}).get(name) for item in items]
    return PhotoFrame(columns)
