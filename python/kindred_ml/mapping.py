"""Maps of embeddings."""

import csv
import html
import os
import tempfile

import numpy as np

from .command import flags, run as run_command, understood
from .files import photo_paths, photo_set, write_embeddings


class Map:
    """Embeddings in the plane, which a notebook shows as a page to explore.

    Attributes
    ----------
    xy : array of shape (n, 2)
        Where each row of the embeddings is.
    page : str
        The page, HTML that loads nothing.
    document : dict
        All that ``kindred map --json`` prints.
    """

    def __init__(self, xy, page, document):
        self.xy = xy
        self.page = page
        self.document = document

    def __repr__(self):
        return f"Map of {len(self.xy)} items"

    def _repr_html_(self):
        return (f'<iframe srcdoc="{html.escape(self.page)}" sandbox="allow-scripts allow-downloads" '
                'style="width:100%;height:640px;border:0" title="map"></iframe>')

    def save(self, path):
        """Write the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.page)


def draw_map(X, labels=None, photos=None, method="tsne", seed=1, progress=False, **options):
    """Place embeddings in the plane: ``kindred map``.

    Parameters
    ----------
    X : array of shape (n, d)
    labels : sequence of n ints or strs, optional
        What colours the map.
    photos : sequence of n photos, optional
        Their photos, which the page shows under the pointer.
    method : 'tsne', 'tsne-exact' or 'pca'
    seed : int
    progress
        See :func:`kindred_ml.command.run`.
    **options
        Further flags of the command, such as ``perplexity=50``.

    Returns
    -------
    Map
    """
    with tempfile.TemporaryDirectory(prefix="kindred-") as folder:
        file, out = os.path.join(folder, "embeddings.npz"), os.path.join(folder, "map")
        settings = {"embeddings": file, "out": out, "method": method, "seed": seed}
        paths = None
        if photos is not None:
            paths = photo_paths(photos, os.path.join(folder, "photos"))
            settings["data"], more = photo_set(paths, folder)
            settings.update(more)
        write_embeddings(file, X, labels, paths=paths)
        document = run_command("map", *flags({**settings, **options}), progress=progress)
        with understood("map"):
            with open(os.path.join(out, "map.html"), encoding="utf-8") as page:
                text = page.read()
            with open(os.path.join(out, "map.csv"), encoding="utf-8", newline="") as rows:
                xy = np.array([[float(row["x"]), float(row["y"])] for row in csv.DictReader(rows)])
    return Map(xy, text, document)
