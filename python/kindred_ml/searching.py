"""Search without an index."""

import os
import tempfile

from .command import flags, run as run_command, understood
from .files import photo_paths, photo_set, sum_arguments
from .results import Neighbour, neighbours as rows_of, shown


def search(photo=None, run=None, in_=None, network=None, embeddings=None, neighbours=10, as_frame=None, progress=None,
           text=None, like=None, unlike=(), **options):
    """Find the photos of a gallery that look most like others, or like words: ``kindred search``.

    Parameters
    ----------
    photo : str, path, image or sequence of these, optional
        What to look for, as :func:`kindred_ml.embed` takes photos; or ``text``.
    run : str or path, optional
        The folder of a finished run, whose network compares.
    in_ : str, path or sequence of photos
        The gallery: a folder, manifest, archive, data set by name, or a list of photos. The answer calls
        those that are no files ``photo 0``, ``photo 1``.
    network : str or path, optional
        Instead of a run, a network that was not trained here. Without either it is the one that
        training starts from.
    embeddings : str or path, optional
        A file of the gallery's embeddings that ``kindred embed`` wrote with the same network.
    neighbours : int
        Photos to find for each.
    as_frame : bool, optional
        Whether to answer with a pandas frame; by default if pandas is installed.
    progress
        See :func:`kindred_ml.command.run`.
    text : str or sequence of str, optional
        Words to look for; ``words`` is the folder of the network's text tower.
    like, unlike : sequence, optional
        The query is the sum of what is in ``like`` less what is in ``unlike``, each of unit length: photos, and
        words as ``{"text": "with laces"}``.
    **options
        Further flags of the command, such as ``distance="cosine"`` or ``group_by="label"``.

    Returns
    -------
    pandas.DataFrame or list of Neighbour
        A row for each photo found, with the columns of :class:`Neighbour`. A notebook shows it with
        pictures.
    """
    if sum(asked is not None for asked in (photo, text, like)) != 1 or like is None and len(unlike):
        raise ValueError("search takes either a photo, text or like, and unlike with like")
    with tempfile.TemporaryDirectory(prefix="kindred-") as folder:
        settings = {"run": run, "network": network, "embeddings": embeddings, "neighbours": neighbours,
                    "text": text}
        if in_ is not None:
            settings["in"], more = photo_set(in_, folder)
            settings.update(more)
        settings.update(options)
        queries = os.path.join(folder, "queries")
        asked = sum_arguments(like, unlike, queries) if photo is None else photo_paths(photo, queries)
        document = run_command("search", *flags(settings), "--", *asked, progress=progress)
        with understood("search"):
            rows = rows_of(document, written=(queries, os.path.join(folder, "photos")))
    return shown(rows, Neighbour, as_frame, document)
