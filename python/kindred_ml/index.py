"""Items with their embeddings in a folder, to be searched and changed."""

import contextlib
import csv
import os
import tempfile

import numpy as np

from .command import flags, run as run_command, understood
from .files import photo_paths, photo_set, sum_arguments, write_embeddings
from .results import Neighbour, framed, neighbours as rows_of, shown

# The items of one command that lists them.
_PAGE = 20000
# The longest list of ids in one command, in characters: Windows takes 32,767 of all arguments.
_LONGEST = 16000


class Index:
    """An index: ``kindred index``.

    Parameters
    ----------
    path : str or path
        Its folder. :meth:`create` makes one.

    Attributes
    ----------
    path : str
    """

    def __init__(self, path):
        self.path = os.path.abspath(path)

    def __repr__(self):
        return f"Index({self.path!r})"

    @classmethod
    def create(cls, path, photos=None, run=None, network=None, embeddings=None, labels=None, ids=None, columns=None,
               distance=None, progress=None, **options):
        """Make an index of photos, or of embeddings.

        Parameters
        ----------
        path : str or path
            The folder to make.
        photos : str, path or sequence of paths, optional
            A folder, manifest, archive, data set by name, or a list of photos, which are files: the index
            keeps their paths.
        run, network : str or path, optional
            What embeds them, and photos that are searched with.
        embeddings : array of shape (n, d) or file, optional
            In place of photos.
        labels : sequence of int or str, or file, optional
            The classes of an array or of a list of photos; of a file of embeddings, the file of its labels.
        ids : sequence of str, optional
            The ids of an array.
        columns : dict of sequences, pandas.DataFrame or file, optional
            Further columns; one is ``id``, or ``path``, and holds the items' ids.
        distance : 'euclidean', 'cosine' or 'dot', optional
        progress
            See :func:`kindred_ml.command.run`.
        **options
            Further flags of the command, such as ``prefix="more/"``.

        Returns
        -------
        Index
        """
        index = cls(path)
        settings = {"run": run, "network": network, "out": index.path, "distance": distance, **options}
        with _source(photos, embeddings, labels, ids, columns) as source:
            run_command("index", "create", *flags({**source, **settings}), progress=progress)
        return index

    def add(self, photos=None, embeddings=None, labels=None, ids=None, columns=None, update=False, progress=None,
            **options):
        """Add photos, or embeddings that the index's network made.

        Items whose ids are there already are skipped, unless ``update`` replaces them. The other
        parameters are those of :meth:`create`.

        Returns
        -------
        dict
            How many were ``added``, ``replaced`` and ``skipped``, and the ``items`` that there are now.
        """
        with _source(photos, embeddings, labels, ids, columns) as source:
            return run_command("index", "add", *flags({**source, "update": update, **options}), "--", self.path,
                               progress=progress)

    def remove(self, *ids, filter=None):
        """Remove items by their ids or by a filter.

        Parameters
        ----------
        *ids : str
        filter : str, optional
            Such as ``'price < 20 and category = "shoe"'``.

        Returns
        -------
        int
            How many were removed.
        """
        if (not ids) == (filter is None):
            raise ValueError("remove takes either ids or a filter")
        if filter is not None:
            return self._removed(*flags({"filter": filter}), "--", self.path)
        return sum(self._removed("--", self.path, *part) for part in _parts(ids))

    def _removed(self, *arguments):
        document = run_command("index", "remove", *arguments, progress=False)
        with understood("index remove"):
            return int(document["removed"])

    def search(self, photos=None, ids=None, vectors=None, neighbours=10, filter=None, as_frame=None, progress=False,
               text=None, like=None, unlike=(), **options):
        """Find the items nearest to photos, to items, to embeddings or to words.

        Parameters
        ----------
        photos : str, path, image or sequence of these, optional
            As :func:`kindred_ml.embed` takes them.
        ids : str or sequence of str, optional
            Items of the index.
        vectors : array of shape (n, d), optional
            Embeddings. An item with the very embedding of a query is left out, as photos and ids are.
        neighbours : int
        filter : str, optional
            Which items count.
        as_frame : bool, optional
            Whether to answer with a pandas frame; by default if pandas is installed.
        progress
            See :func:`kindred_ml.command.run`.
        text : str or sequence of str, optional
            Words, if the index has a text tower.
        like, unlike : sequence, optional
            The query is the sum of what is in ``like`` less what is in ``unlike``, each of unit length: photos, and
            words as ``{"text": "with laces"}``.
        **options
            Further flags of the command, such as ``exact=True`` or ``group_by="label"``.

        Returns
        -------
        pandas.DataFrame or list of Neighbour
        """
        if sum(asked is not None for asked in (photos, ids, vectors, text, like)) != 1 or like is None and len(unlike):
            raise ValueError("search takes photos, ids, vectors, text or like, and unlike with like")
        settings = {"neighbours": neighbours, "filter": filter, "text": text}
        with tempfile.TemporaryDirectory(prefix="kindred-") as folder:
            if ids is not None:
                settings["id"] = [ids] if isinstance(ids, str) else list(ids)
            if vectors is not None:
                settings["vector"] = os.path.join(folder, "vectors.npz")
                write_embeddings(settings["vector"], vectors)
            written = os.path.join(folder, "photos")
            asked = sum_arguments(like, unlike, written) if photos is None else photo_paths(photos, written)
            document = run_command("index", "search", *flags({**settings, **options}), "--", self.path, *asked,
                                   progress=progress)
        with understood("index search"):
            rows = rows_of(document, vectors is not None, [written])
        return shown(rows, Neighbour, as_frame, document)

    def items(self, filter=None, columns=None, vectors=False, as_frame=None):
        """Return the items with their columns, in the order of their ids.

        Parameters
        ----------
        filter : str, optional
            Which items count.
        columns : sequence of str, optional
            The columns; by default all but those in which ``sync`` keeps the facts of files.
        vectors : bool
            Whether to return the embeddings as well: arrays of float32.
        as_frame : bool, optional
            Whether to answer with a pandas frame; by default if pandas is installed.

        Returns
        -------
        pandas.DataFrame or list of dict
            ``id``, ``path``, the columns, and ``vector`` with ``vectors``. A value that an item does not
            have is None in a list, and missing in a frame.
        """
        if isinstance(columns, str):
            raise ValueError(f"columns is {columns!r}: give a list of names, such as [{columns!r}]")
        names = [c["name"] for c in self.info()["columns"]] if columns is None else list(columns)
        if columns is None:
            names = [name for name in names if not name.startswith("file.")]
        if vectors and "vector" in names:
            raise ValueError("the index has a column called vector: give columns without it")
        settings = {"filter": filter, "vectors": vectors, "columns": _listed(columns or []), "limit": _PAGE}
        rows, after = [], None
        while after != "":
            document = run_command("index", "list", *flags({**settings, "after": after}), "--", self.path,
                                   progress=False)
            with understood("index list"):
                rows.extend(_row(item, names, vectors) for item in document["items"])
                after = document.get("next", "")
        if not framed(as_frame):
            return rows
        from .frame import PhotoFrame
        return PhotoFrame(rows, columns=["id", "path", *names, *(["vector"] if vectors else [])])

    def info(self):
        """Return what the index holds: items, columns, network, bytes.

        Returns
        -------
        dict
        """
        return run_command("index", "info", "--", self.path, progress=False)

    def __len__(self):
        document = self.info()
        with understood("index info"):
            return int(document["items"])


@contextlib.contextmanager
def _source(photos, embeddings, labels, ids, columns):
    """The flags for what is put into an index, with files that are there meanwhile."""
    if photos is None and embeddings is None:
        raise ValueError("nothing to put into the index: give photos or embeddings")
    with tempfile.TemporaryDirectory(prefix="kindred-") as folder:
        settings = {}
        if photos is not None:
            settings["data"], more = photo_set(photos, folder, labels if embeddings is None else None,
                                                   keep=True)
            settings.update(more)
        if isinstance(embeddings, (str, os.PathLike)):
            if ids is not None:
                raise ValueError("ids are for an array of embeddings; a file holds its own ids")
            settings["embeddings"], settings["labels"] = embeddings, labels
        elif embeddings is not None:
            settings["embeddings"] = os.path.join(folder, "embeddings.npz")
            write_embeddings(settings["embeddings"], embeddings, labels, ids)
        if isinstance(columns, (str, os.PathLike)):
            settings["columns"] = columns
        elif columns is not None:
            settings["columns"] = os.path.join(folder, "columns.csv")
            _write_columns(settings["columns"], columns)
        yield settings


def _write_columns(path, columns):
    """Write columns as CSV, with true and false as kindred reads them."""
    names = list(columns)
    values = [[_cell(v) for v in columns[name]] for name in names]
    if len({len(v) for v in values}) > 1:
        raise ValueError(f"columns of different lengths: {', '.join(f'{n} {len(v)}' for n, v in zip(names, values))}")
    with open(path, "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(names)
        rows.writerows(zip(*values))


def _cell(value):
    if value is None or value != value:
        return ""
    return str(value).lower() if str(value) in ("True", "False") else str(value)


def _listed(names):
    """Names with commas between them, as a flag takes them; None for none."""
    quoted = ['"' + name.replace('"', '""') + '"' if set(name) & set(',"') else name for name in names]
    return ",".join(quoted) or None


def _row(item, names, vectors):
    """An item of ``index list`` as a row."""
    values = item.get("columns", {})
    row = {"id": item["id"], "path": item.get("path", ""), **{name: values.get(name) for name in names}}
    if vectors:
        row["vector"] = np.array(item["vector"], dtype=np.float32)
    return row


def _parts(ids):
    """Cut ids into lists that fit into a command."""
    part, length = [], 0
    for item in ids:
        if part and length + len(item) > _LONGEST:
            yield part
            part, length = [], 0
        part.append(item)
        length += len(item) + 3
    if part:
        yield part
