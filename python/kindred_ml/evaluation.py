"""Scores of embeddings."""

import os
import tempfile

from .command import flags, run as run_command, understood
from .files import write_embeddings


class Scores(dict):
    """Values by the names of their metrics.

    Attributes
    ----------
    document : dict
        All that ``kindred eval --json`` prints: queries left out, intervals, thresholds, clusterings.
    """

    def __init__(self, document):
        super().__init__({name: float(value) for name, value in document["metrics"].items()})
        self.document = document

    def __reduce__(self):
        return type(self), (self.document,)


def evaluate(X, labels, metrics=("recall@1", "map@r", "nmi"), gallery=None, gallery_labels=None,
             distance="euclidean", seed=1, progress=False, **options):
    """Measure retrieval, clustering and decisions: ``kindred eval``.

    Parameters
    ----------
    X : array of shape (n, d)
        The embeddings of the queries, which are the gallery too if that is not given: each query is
        then left out of its own ranking.
    labels : sequence of n ints or strs
    metrics : sequence of str
        Such as ``recall@1..8``, ``map@r``, ``nmi``, ``fnmr@fmr=0.01``: ``kindred eval --help`` has all.
    gallery : array of shape (m, d), optional
    gallery_labels : sequence of m ints or strs, optional
    distance : 'euclidean', 'cosine' or 'dot'
    seed : int
        Of the clustering's start.
    progress
        See :func:`kindred_ml.command.run`.
    **options
        Further flags of the command, such as ``bootstrap=1000``.

    Returns
    -------
    Scores
        A dict of the metrics, with the whole answer as its ``document``.
    """
    if isinstance(metrics, str):
        metrics = [metrics]
    if (gallery is None) != (gallery_labels is None):
        raise ValueError("gallery and gallery_labels belong together")
    with tempfile.TemporaryDirectory(prefix="kindred-") as folder:
        files = {"embeddings": os.path.join(folder, "queries.npz")}
        write_embeddings(files["embeddings"], X, labels)
        if gallery is not None:
            files["gallery"] = os.path.join(folder, "gallery.npz")
            write_embeddings(files["gallery"], gallery, gallery_labels)
        settings = {**files, "metrics": ",".join(metrics), "distance": distance, "seed": seed, **options}
        document = run_command("eval", *flags(settings), progress=progress)
    with understood("eval"):
        return Scores(document)
