"""kindred from Python: train embeddings, embed photos, search, measure, decide.

The package starts the kindred binary and exchanges files with it; see docs/python.md in kindred's
repository.
"""

from .answers import Identification
from .binary import find
from .client import Client
from .command import run
from .decisions import calibrate, identify
from .embedder import Embedder
from .embedding import embed
from .errors import KindredError, KindredWarning, ServerError
from .evaluation import evaluate
from .findings import clean, discover, report
from .index import Index
from .mapping import Map, draw_map
from .results import Kind, Neighbour, Suspect
from .searching import search

__all__ = ["Client", "Embedder", "Identification", "Index", "Kind", "KindredError", "KindredWarning", "Map",
           "Neighbour", "ServerError", "Suspect", "calibrate", "clean", "discover", "draw_map", "embed", "evaluate",
           "find", "identify", "report", "run", "search"]


def __getattr__(name):
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version
        try:
            return version("kindred-ml")
        except PackageNotFoundError:  # a checkout that is not installed
            return "0+unknown"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
