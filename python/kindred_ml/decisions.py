"""Decisions by a calibration: what is on a photo, and how sure that is."""

import os
import tempfile

from .answers import Identification
from .command import flags, run as run_command, understood
from .files import photo_paths, photo_set, write_embeddings
from .results import decisions, shown


def calibrate(target, labels=None, data=None, fmr=None, distance=None, out=None, force=False, progress=None,
              **options):
    """Learn from classes that training never saw what a distance means: ``kindred calibrate``.

    Parameters
    ----------
    target : str, path or array of shape (n, d)
        The folder of a run or an index, a file of embeddings with labels, or embeddings.
    labels : sequence of n ints or strs, optional
        Of an array, the classes.
    data : str or path, optional
        Of a run or an index, a data set of other classes.
    fmr : sequence of float, optional
        False-match rates to give thresholds for; by default the command's. A calibration for photos that all have a
        class takes none.
    distance : 'euclidean', 'cosine' or 'dot', optional
    out : str or path, optional
        The file of the calibration; by default in the folder, or beside the embeddings. An array
        needs it.
    force : bool
        Whether to replace a calibration that is there.
    progress
        See :func:`kindred_ml.command.run`.
    **options
        Further flags of the command, such as ``trials=8``.

    Returns
    -------
    dict
        The document that the command prints, with ``thresholds``: for each rate the distance, the
        rate that was measured, its bound, and the share of true matches.
    """
    settings = {"data": data, "fmr": None if fmr is None else ",".join(repr(float(rate)) for rate in fmr),
                "distance": distance, "out": None if out is None else os.path.abspath(out), "force": force, **options}
    with tempfile.TemporaryDirectory(prefix="kindred-") as folder:
        if not isinstance(target, (str, os.PathLike)):
            if labels is None or out is None:
                raise ValueError("calibrate of an array needs labels, and out, the file to write")
            array, target = target, os.path.join(folder, "embeddings.npz")
            write_embeddings(target, array, labels)
        elif labels is not None:
            settings["labels"] = labels
        return run_command("calibrate", *flags(settings), "--", os.path.abspath(target), progress=progress)


def identify(photos=None, run=None, in_=None, index=None, network=None, embeddings=None, labels=None, vectors=None,
             calibration=None, coverage=None, fpir=None, estimate=False, strangers=None, together=False, as_frame=None,
             progress=None, **options):
    """Give photos a label with its probability, or call them unknown: ``kindred identify``.

    Parameters
    ----------
    photos : str, path, image or sequence of these, optional
        What to decide about, as :func:`kindred_ml.embed` takes photos; or ``vectors``.
    run, network : str or path, optional
        The network.
    in_ : str, path or sequence of paths, optional
        The gallery for it: a folder of classes, a manifest, a data set by name, or a list of photos
        with ``labels``.
    index : str or path, optional
        An index, which is gallery and network.
    embeddings : str, path or array, optional
        The gallery as embeddings: a file, or an array with ``labels``.
    labels : sequence of int or str, or file, optional
        Of a file of embeddings, the file of its labels.
    vectors : array of shape (n, d), optional
        Embeddings by the same network, in place of photos.
    calibration : str or path, optional
        The file of the calibration; by default in the folder of the run or the index, or beside the
        file of embeddings.
    coverage : float, optional
        Asks for the set of labels that holds the right one with this probability.
    fpir : float, optional
        The share of photos of no class of the gallery that may be given a label; by default the
        command's. A calibration for photos that all have a class takes none.
    estimate : bool
        Whether about this share is given a label, without a bound.
    strangers : float, optional
        The share of photos that are expected to be such; as ``fpir``.
    together : bool
        Whether all photos are of one thing.
    as_frame, progress
        As in :func:`kindred_ml.search`.
    **options
        Further flags of the command.

    Returns
    -------
    pandas.DataFrame or list of Identification
        A row for each photo, with the columns of :class:`Identification`.
    """
    if (photos is None) == (vectors is None):
        raise ValueError("identify takes either photos or vectors")
    settings = {"run": run, "index": index, "network": network, "calibration": calibration, "coverage": coverage,
                "fpir": fpir, "estimate": estimate, "strangers": strangers, "together": together}
    with tempfile.TemporaryDirectory(prefix="kindred-") as folder:
        if in_ is not None:
            settings["in"], more = photo_set(in_, folder, labels)
            settings.update(more)
        if embeddings is not None and not isinstance(embeddings, (str, os.PathLike)):
            array, embeddings = embeddings, os.path.join(folder, "gallery.npz")
            write_embeddings(embeddings, array, labels)
        elif embeddings is not None:
            settings["labels"] = labels
        settings["embeddings"] = embeddings
        if vectors is not None:
            settings["vector"] = os.path.join(folder, "vectors.npz")
            write_embeddings(settings["vector"], vectors)
        settings.update(options)
        queries = os.path.join(folder, "queries")
        asked = [] if photos is None else ["--", *photo_paths(photos, queries)]
        document = run_command("identify", *flags(settings), *asked, progress=progress)
    with understood("identify"):
        rows = decisions(document, vectors is not None, [queries])
    return shown(rows, Identification, as_frame, document)
