"""Embeddings of photos."""

import os
import tempfile

import numpy as np

from .command import flags, run as run_command, understood
from .errors import KindredError
from .files import photo_paths, slashed
from .images import called


def embed(paths, run=None, network=None, progress=None, **options):
    """Compute the embeddings of photos: ``kindred embed``.

    Parameters
    ----------
    paths : str, path, image or sequence of these
        The photos: paths, arrays (height x width x 3 of bytes, or of fractions from 0 to 1), images of
        Pillow; or a column of a DataFrame. A path that comes several times is embedded once.
    run : str or path, optional
        The folder of a finished run.
    network : str or path, optional
        Instead of a run, a network that was not trained here: an .onnx file, one that was saved, or
        one by name (``kindred weights list``).
    progress
        See :func:`kindred_ml.command.run`.
    **options
        Further flags of the command, such as ``size=64`` for ``--size=64``.

    Returns
    -------
    array of shape (n, d), float32
        Row k is the embedding of photo k.

    Raises
    ------
    KindredError
        If the command fails, or a photo cannot be read.
    """
    if (run is None) == (network is None):
        raise ValueError("embed needs either run (the folder of a finished run) or network")
    with tempfile.TemporaryDirectory(prefix="kindred-") as folder:
        written = os.path.join(folder, "photos")
        photos = [slashed(p) for p in photo_paths(paths, written)]
        if not photos:
            raise ValueError("there are no photos to embed")
        once = list(dict.fromkeys(photos))
        out = os.path.join(folder, "embeddings.npz")
        settings = {"run": run, "network": network, "out": out, "strict": True, **options}
        said = run_command("embed", *flags(settings), "--data=-", progress=progress,
                           stdin=b"\0".join(p.encode() for p in once) + b"\0")
        with understood("embed"):
            with np.load(out) as file:
                X, names = file["embeddings"], file["path"].tolist()
            rows = {name: k for k, name in enumerate(names)}
            missing = [p for p in once if p not in rows]
            if missing:
                raise KindredError(f"{len(missing)} of {len(once)} photos were left out, such as "
                                   f"{called(missing[0], written)}: {_reasons(said)}")
            return X[[rows[p] for p in photos]]


def _reasons(said):
    """Return why photos were left out, from the command's document."""
    return "; ".join(str(left.get("why") or left.get("reason") or left) if isinstance(left, dict) else str(left)
                     for left in said.get("left_out") or []) or "no reason was given"
