"""The files that are handed to kindred: lists of photos, manifests, embeddings and labels."""

import csv
import os
import unicodedata

import numpy as np

from .images import is_image, listed, written


def sum_arguments(like, unlike, folder):
    """Return the arguments of a search for a sum: photos, and words as ``{"text": words}``, added and subtracted.

    Photos that are no files are written to ``folder``. Without ``like`` there are no arguments.
    """
    if like is None:
        return []
    if not len(like) or isinstance(like, str) or isinstance(unlike, str):
        raise ValueError("like and unlike are lists of photos and of {'text': words}; like has one or more")
    terms = [*((term, "+") for term in like), *((term, "-") for term in unlike)]
    is_photo = [not isinstance(term, dict) or "bytes" in term for term, _ in terms]
    paths = iter(photo_paths([term for (term, _), photo in zip(terms, is_photo) if photo], folder))
    out = []
    for (term, sign), photo in zip(terms, is_photo):
        if not photo and set(term) != {"text"}:
            raise ValueError(f"a term is {term!r}: want a photo or {{'text': words}}")
        out += [sign, next(paths) if photo else term["text"]]
    return out[1:]


def photo_paths(photos, folder=None, what="photo"):
    """Return absolute paths of photos, which must be there.

    Parameters
    ----------
    photos : str, path, image or sequence of these
        As :func:`kindred_ml.images.listed` takes them.
    folder : str, optional
        Where photos that are no files are written. Without one they are refused.
    what : str
        What messages call one of them.

    Returns
    -------
    list of str

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    TypeError
        If one is neither a path nor an image.
    ValueError
        If kindred cannot take a path: it has a control character or is no valid Unicode.
    """
    out = []
    for k, photo in enumerate(listed(photos, what)):
        name = f"{what} {k}"
        if is_image(photo):
            if folder is None:
                raise TypeError(f"{name} is an image in memory, but a path is needed: save it as a file first")
            out.append(written(photo, k, folder, name))
            continue
        if not isinstance(photo, (str, os.PathLike)):
            missing = photo is None or isinstance(photo, float) and photo != photo
            raise TypeError(f"{name} is " + ("missing" if missing else f"a {type(photo).__name__}") +
                            ": want a str, a path, an array or an image")
        path = os.path.abspath(_legible(os.fspath(photo), name))
        if not os.path.exists(path):
            raise FileNotFoundError(f"{name}: there is no {path}")
        out.append(path)
    return out


def _legible(text, what):
    """Refuse a text that a list for kindred cannot hold."""
    if isinstance(text, bytes):
        text = os.fsdecode(text)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{what}, {text!r}, is not valid Unicode: rename it") from None
    for c in text:
        if unicodedata.category(c) == "Cc":
            raise ValueError(f"{what}, {text!r}, has the control character {c!r}: rename it")
    return text


def slashed(path):
    """A path as kindred names it, with slashes on Windows too."""
    return path.replace(os.sep, "/") if os.sep != "/" else path


def label_array(labels):
    """Return labels as an array of integers or of strings.

    Raises
    ------
    ValueError
        If a label is missing or is a number that is not whole.
    """
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"labels have the shape {array.shape}: want one for each row")
    if array.dtype.kind == "f":
        if not np.all(np.isfinite(array)) or np.any(array != np.floor(array)):
            raise ValueError("labels have missing or fractional numbers: use whole numbers or names")
        return array.astype(np.int64)
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    for k, label in enumerate(array.tolist()):
        if label is None or label != label:
            raise ValueError(f"label {k} is missing")
    return np.array([_legible(str(label), f"label {k}") for k, label in enumerate(array.tolist())], dtype=np.str_)


def write_manifest(path, photos, labels=None, split=None):
    """Write a manifest: the photos with their labels, and which part each belongs to.

    Parameters
    ----------
    path : str
        The .csv file.
    photos : list of str
        Absolute paths.
    labels : array of int or str, optional
    split : sequence of str, optional
        ``train``, ``test``, ``val``, ``query`` or ``gallery`` for each photo.
    """
    columns = {"path": [slashed(p) for p in photos]}
    if labels is not None:
        columns["label"] = [_trimmed(str(label), k) for k, label in enumerate(label_array(labels).tolist())]
    if split is not None:
        columns["split"] = [str(s) for s in split]
    for name, values in columns.items():
        if len(values) != len(photos):
            raise ValueError(f"there are {len(photos)} photos and {len(values)} values of {name}")
    part = f"{path}.{os.getpid()}"
    try:
        with open(part, "w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
            rows.writerow(columns)
            rows.writerows(zip(*columns.values()))
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def _trimmed(label, k):
    """Refuse labels that would not come back from a manifest as they were."""
    if not label.strip():
        raise ValueError(f"label {k} is empty")
    if label != label.strip():
        raise ValueError(f"label {k}, {label!r}, has spaces at its ends, which kindred drops: strip it")
    return label


def matrix(X):
    """Return embeddings as a matrix of float32 or float64."""
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"embeddings have the shape {X.shape}: want a row for each item")
    if X.dtype.kind not in "fiu":
        raise ValueError(f"embeddings have the type {X.dtype}: want numbers")
    return np.ascontiguousarray(X if X.dtype in (np.float32, np.float64) else X.astype(np.float32))


def write_embeddings(path, X, labels=None, ids=None, paths=None):
    """Write embeddings with what belongs to their rows into a .npz file.

    Parameters
    ----------
    path : str
    X : array of shape (n, d)
    labels : sequence of int or str, optional
    ids : sequence of str, optional
        What identifies each row, no two alike.
    paths : sequence of str, optional
        Where the photos are.
    """
    columns = {"embeddings": matrix(X)}
    if labels is not None:
        columns["label"] = label_array(labels)
    if ids is not None:
        columns["id"] = np.array([_legible(str(i), f"id {k}") for k, i in enumerate(ids)], dtype=np.str_)
    if paths is not None:
        columns["path"] = np.array([_legible(os.fspath(p), f"path {k}") for k, p in enumerate(paths)], dtype=np.str_)
    rows = len(columns["embeddings"])
    for name, values in columns.items():
        if len(values) != rows:
            raise ValueError(f"there are {rows} embeddings and {len(values)} values of {name}")
    np.savez(path, **columns)


def photo_set(source, folder, labels=None, keep=False):
    """Return what names a set of photos to a command, and the flags that it takes.

    Parameters
    ----------
    source : str, path or sequence of these
        A folder, manifest, archive, address, or data set by name; or a list of photos, for which a
        manifest is written.
    folder : str
        Where that goes, and photos that are no files, into ``photos`` in it.
    labels : sequence of int or str, optional
        Those of a list of photos.
    keep : bool
        Whether the paths of the photos are kept, so that they have to be files.

    Returns
    -------
    name : str
    options : dict
    """
    if isinstance(source, (str, os.PathLike)):
        if labels is not None:
            raise ValueError(f"labels are for a list of photos; {source} holds its own labels")
        name = os.fspath(source)
        return (os.path.abspath(name) if os.path.exists(name) else name), {}
    path = os.path.join(folder, "photos.csv")
    write_manifest(path, photo_paths(source, None if keep else os.path.join(folder, "photos")), labels)
    return path, {"allow_outside": True}
