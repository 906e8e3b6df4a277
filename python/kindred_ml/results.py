"""What searches and decisions answer, as rows: a pandas frame, or a list of dataclasses."""

import dataclasses
import importlib.util
from typing import Dict, List, Optional

from .images import called
from .pictures import table


@dataclasses.dataclass(frozen=True)
class Neighbour:
    """A photo or an item that was found.

    Attributes
    ----------
    query : str
        What was asked with.
    rank : int
        1 for the nearest.
    path : str
        Where the photo is; empty if it is not known.
    label : str
        Its class; empty if it has none.
    distance : float
    same : float or None
        The probability that it shows the same thing, where the network has a calibration.
    id : str
        Of an index, the item's id.
    fields : dict
        Of an index, the item's columns. Those called ``file.`` are what ``kindred index sync`` knows the photo's
        file by; frames leave them out.
    """

    query: str
    rank: int
    path: str
    label: str
    distance: float
    same: Optional[float] = None
    id: str = ""
    fields: Dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Decision:
    """What is on a photo.

    Attributes
    ----------
    query : str
        The photo.
    label : str
        The likeliest label, also where it is unknown.
    probability : float
        That the label is right.
    unknown : bool
        Whether nothing is near enough to tell it from what no class of the gallery holds.
    runner_up : str
    runner_up_probability : float
    nearest : float
        The distance of the nearest photo of the gallery.
    within : float
        The distance that it had to be within.
    set : list of str or None
        With coverage, the labels that hold the right one with that probability.
    itself : list of str or None
        The items of the gallery that are the photo. They have no vote.
    """

    query: str
    label: str
    probability: float
    unknown: bool
    runner_up: str
    runner_up_probability: float
    nearest: float
    within: float
    set: Optional[List[str]] = None
    itself: Optional[List[str]] = None


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
        return table([dataclasses.asdict(row) for row in self])


def neighbours(document, vectors=False, written=""):
    """The rows of the answer of ``kindred search`` or ``kindred index search``.

    With ``vectors`` the queries were no photos but rows of an array: ``vector 0``, ``vector 1``. Photos in the
    folder ``written`` were images in memory: ``photo 0``.
    """
    out = Rows()
    for k, query in enumerate(document["queries"]):
        name = f"vector {k}" if vectors else called(query["query"], written)
        for rank, n in enumerate(query.get("neighbours") or [], 1):
            out.append(Neighbour(name, rank, called(n.get("path", ""), written), n.get("label", ""),
                                 float(n["distance"]), n.get("same"), n.get("id", ""), n.get("fields") or {}))
    return out


def decisions(document, vectors=False, written=""):
    """The rows of the answer of ``kindred identify``; ``vectors`` and ``written`` as in :func:`neighbours`."""
    return Rows(Decision(f"vector {k}" if vectors else called(q["query"], written), q["label"], q["probability"],
                         q["unknown"], q.get("runner_up", ""), q.get("runner_up_probability", 0.0), q["nearest"],
                         q["within"], q.get("set"), q.get("itself"))
                for k, q in enumerate(document["queries"]))


def shown(rows, kind, as_frame):
    """Return rows as they are wanted.

    Parameters
    ----------
    rows : Rows
    kind : type
        Of the rows, whose fields are the frame's columns.
    as_frame : bool or None
        Whether to make a pandas frame; None: if pandas is installed. The frame has an index's columns
        beside its own, and neither ``same`` nor ``id``, ``set`` and ``itself`` where no row has one.
    """
    if as_frame is None:
        as_frame = importlib.util.find_spec("pandas") is not None
    if not as_frame:
        return rows
    from .frame import PhotoFrame
    columns = {f.name: [getattr(row, f.name) for row in rows] for f in dataclasses.fields(kind)}
    fields = columns.pop("fields", [])
    for name in ("same", "id", "set", "itself"):
        if not any(value not in (None, "", []) for value in columns.get(name, [])):
            columns.pop(name, None)
    for name in dict.fromkeys(name for row in fields for name in row):
        if name not in columns and not name.startswith("file."):
            columns[name] = [row.get(name) for row in fields]
    return PhotoFrame(columns)
