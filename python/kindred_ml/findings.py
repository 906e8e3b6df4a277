"""What is wrong in a set, and which kinds its classes hold."""

import csv
import os
import re
import tempfile

from .command import flags, run as run_command, understood
from .files import photo_paths, photo_set, slashed, write_embeddings
from .images import called
from .results import Kind, Rows, Suspect, shown


def clean(target, labels=None, photos=None, data=None, out=None, apply=None, force=False, as_frame=None, progress=None,
          **options):
    """Find wrong labels, copies, odd and poor photos: ``kindred clean``.

    Parameters
    ----------
    target : str, path or array of shape (n, d)
        The folder of a finished run, a file of embeddings with labels, or embeddings.
    labels : sequence of n ints or strs, or file, optional
        Of an array, the classes; of a file of embeddings, the file of its labels.
    photos : sequence of n photos, optional
        Of an array, the photos, as :func:`kindred_ml.embed` takes them: copies are found in them.
    data : str or path, optional
        Of a run or a file, the data set with the photos, if it is elsewhere.
    out : str or path, optional
        A folder for the tables and the page on which a person decides; by default nothing is kept.
    apply : 'relabel' or 'drop', optional
        Also writes ``manifest.csv`` into ``out`` with the suspected labels corrected.
    force : bool
        Whether to replace results of something else in ``out``.
    as_frame, progress
        As in :func:`kindred_ml.search`.
    **options
        Further flags of the command, such as ``folds=3``.

    Returns
    -------
    pandas.DataFrame or list of Suspect
        A row for each suspect, the surest first. ``attrs["document"]`` is all that the command prints: the share
        of wrong labels, how many of each sort.
    """
    if apply is not None and out is None:
        raise ValueError("apply writes a manifest: give out, the file to write")
    settings = {"data": data, "apply": apply, "force": force, **options}
    with tempfile.TemporaryDirectory(prefix="kindred-") as folder:
        document, _ = _run("clean", target, labels, photos, out, settings, folder, progress)
        written = os.path.join(folder, "photos")
        image = re.compile(re.escape(slashed(written)) + r"/(photo \d+)\.\w+")
        with understood("clean"):
            rows = Rows(Suspect(s["row"], called(s["path"], written), s["label"], s["suggested"], s["score"],
                                image.sub(r"\1", s["reason"]), s["id"]) for s in document["suspects"])
    return shown(rows, Suspect, as_frame, document)


def discover(target, labels=None, photos=None, data=None, out=None, force=False, as_frame=None, progress=None,
             **options):
    """Find kinds of things inside classes: ``kindred discover``.

    Parameters
    ----------
    target, labels, photos, data, out, force
        As in :func:`clean`.
    as_frame, progress
        As in :func:`kindred_ml.search`.
    **options
        Further flags of the command, such as ``level=0.3``.

    Returns
    -------
    pandas.DataFrame or list of Kind
        A row for each kind, the classes that are surely divided first. ``attrs["kinds"]`` has the kind of each
        item, in their order, and ``attrs["document"]`` all that the command prints.
    """
    settings = {"data": data, "force": force, **options}
    with tempfile.TemporaryDirectory(prefix="kindred-") as folder:
        document, out = _run("discover", target, labels, photos, out, settings, folder, progress)
        written = os.path.join(folder, "photos")
        with understood("discover"):
            with open(os.path.join(out, "kinds.csv"), encoding="utf-8", newline="") as file:
                kinds = [row["kind"] for row in csv.DictReader(file)]
            rows = Rows(Kind(c["label"], k["kind"], k["items"], k["stability"], c["p"], called(k["exemplar"], written))
                        for c in document["classes"] for k in c["kinds"])
    return shown(rows, Kind, as_frame, document, kinds=kinds)


def report(*runs, out=None, data=None, force=False, progress=None, **options):
    """Write scores, curves, a map and neighbours of runs as one page: ``kindred report``.

    Parameters
    ----------
    *runs : str, path or Embedder
        The folders of finished runs.
    out : str or path, optional
        The folder for the page; by default that of the run, or ``report`` for several.
    data : str or path, optional
        The data set of the runs, if it was moved since training.
    force : bool
        Whether to replace results of something else in ``out``.
    progress
        See :func:`kindred_ml.command.run`.
    **options
        Further flags of the command.

    Returns
    -------
    dict
        The document that the command prints: ``page`` is the path of the page, ``groups`` has the metrics.
    """
    folders = [os.path.abspath(getattr(run, "run_", None) or run) for run in runs]
    if not folders:
        raise ValueError("report needs the folders of runs")
    settings = {"out": None if out is None else os.path.abspath(out), "data": data, "force": force, **options}
    document = run_command("report", *flags(settings), "--", *folders, progress=progress)
    with understood("report"):
        return {**document, "page": os.path.abspath(document["page"])}


def _run(command, target, labels, photos, out, settings, folder, progress):
    """Run a command on a run, a file or an array; return what it prints and the folder of its files."""
    kept = out is not None
    out = os.path.abspath(out) if kept else os.path.join(folder, "out")
    if isinstance(target, (str, os.PathLike)):
        if photos is not None:
            raise ValueError("photos are for an array; for a run or a file give data, the folder of the photos")
        settings, target = {**settings, "labels": labels}, os.path.abspath(target)
    else:
        if labels is None:
            raise ValueError(f"{command} of an array needs labels")
        paths, array, target = None, target, os.path.join(folder, "embeddings.npz")
        if photos is not None:
            paths = photo_paths(photos, os.path.join(folder, "photos"))
            settings["data"], more = photo_set(paths, folder)
            settings.update(more)
        write_embeddings(target, array, labels, paths=paths)
    document = run_command(command, *flags({**settings, "out": out}), "--", target, progress=progress)
    if not kept:
        document.pop("files", None)  # which are gone
    return document, out
