"""An embedding as an estimator of scikit-learn's conventions."""

import inspect
import os
import re
import tempfile
import warnings

import numpy as np

from .command import flags, run as run_command, understood
from .embedding import embed
from .errors import KindredWarning
from .evaluation import evaluate
from .files import label_array, photo_paths, write_manifest
from .images import is_image, listed

# What embedding needs of a run: a pickle carries these.
_NETWORK = ("config.yaml", "model.json", "model.safetensors")
# How the note of a training begins that wanted a pretrained network and could not fetch it.
_RANDOM = "photographs are trained from random weights"


class Embedder:
    """Train an embedding of photos, and compute it.

    It has the conventions of scikit-learn's transformers and needs no scikit-learn. X is a sequence of
    photos, not a matrix: of paths, arrays or images, as :func:`kindred_ml.embed` takes them.

    Parameters
    ----------
    run : str or path, optional
        The folder of a finished run: then ``fit`` trains nothing.
    network : str or path, optional
        A network that was not trained here, as in :func:`kindred_ml.embed`: then ``fit`` trains nothing.
    set : dict, optional
        Settings of the training by key: ``{"train.epochs": 3}``. ``kindred train --print-config`` has
        all keys. A single one is also the parameter ``set__train.epochs`` of ``set_params``.
    config : str or path, optional
        A configuration (YAML) that the settings are applied to.
    folder : str or path, optional
        Where ``fit`` writes ``manifest.csv`` and the folder ``run``. By default a temporary folder,
        which goes with the estimator; a pickle or a copy carries the network.
    seed : int
        For everything random: the same seed gives the same bits.
    force : bool
        Whether ``fit`` replaces a run in ``folder`` that this estimator has not made.
    progress
        See :func:`kindred_ml.command.run`.
    loss : callable, optional
        A loss of your own: called for each batch with its embeddings (n, d), as float32, and its labels (n,), as
        numbers of classes; it returns the loss and its gradient (n, d). The embeddings have unit length if the
        settings say so, as the default does.
    miner : callable, optional
        Chooses the triplets of each batch for a loss over triplets: called as ``loss`` is, it returns integers (m, 3):
        rows of an anchor, a positive and a negative. Not with ``loss``.

    Attributes
    ----------
    run_ : str or None
        The folder of the run; None with ``network``.
    training_ : dict
        What ``kindred train --json`` printed: epochs, loss, metrics, seconds.
    metrics_ : dict
        The scores on the photos that training held back.
    classes_ : array
        The labels, each once. These three are there where ``fit`` trained.

    Notes
    -----
    ``fit`` holds back a part of the photos to measure on, as ``kindred train`` does: 20 % of each class
    unless ``set`` has another ``data.split``, or ``fit`` is given ``split``.

    ``loss`` and ``miner`` run in this process, one batch after the other, in a thread of their own: they are slow beside
    those of kindred. An exception in them ends the training with a KindredError that has its traceback. The same seed
    gives the same bits only if they do.

    Examples
    --------
    >>> from kindred_ml import Embedder
    >>> embedder = Embedder(set={"train.epochs": 3}).fit(paths, labels)  # doctest: +SKIP
    >>> X = embedder.transform(more_paths)  # doctest: +SKIP
    """

    def __init__(self, run=None, network=None, set=None, config=None, folder=None, seed=1, force=False,
                 progress=None, loss=None, miner=None):
        self.run = run
        self.network = network
        self.set = set
        self.config = config
        self.folder = folder
        self.seed = seed
        self.force = force
        self.progress = progress
        self.loss = loss
        self.miner = miner

    def fit(self, X, y=None, split=None):
        """Train on photos and their labels.

        Parameters
        ----------
        X : sequence of str, path or image
            The photos. Images are written to ``photos`` in the folder of the training.
        y : sequence of int or str
            Their labels.
        split : sequence of str, optional
            For each photo ``train`` or ``test``, as the column of that name of a manifest.

        Returns
        -------
        Embedder
            Itself.
        """
        if self.run is not None and self.network is not None:
            raise ValueError("give run or network, not both")
        if self.run is not None or self.network is not None:
            _check(listed(X))
            self.run_ = None if self.run is None else os.path.abspath(self.run)
            if self.run_ is not None and not os.path.isdir(self.run_):
                raise FileNotFoundError(f"the run folder {self.run_} does not exist")
            return self
        if y is None:
            raise ValueError("training needs labels; give run or network to embed without training")
        photos, labels = listed(X), label_array(y)
        if len(photos) != len(labels):
            raise ValueError(f"there are {len(photos)} photos and {len(labels)} labels")
        _check(photos)
        temporary = None
        if self.folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="kindred-")
        folder = os.path.abspath(temporary.name if temporary else self.folder)
        os.makedirs(folder, exist_ok=True)
        manifest, out = os.path.join(folder, "manifest.csv"), os.path.join(folder, "run")
        photos = photo_paths(photos, os.path.join(folder, "photos"))
        write_manifest(manifest, photos, labels, split)
        settings = {"data": manifest, "allow_outside": True, "out": out, "config": self.config, "seed": self.seed,
                    "force": bool(self.force or getattr(self, "run_", None) == out),
                    "set": [f"{key}={setting(value)}" for key, value in (self.set or {}).items()]}
        self.training_ = run_command("train", *flags(settings), progress=self.progress, loss=self.loss,
                                     miner=self.miner)
        with understood("train"):
            random = [note for note in self.training_.get("notes") or [] if note.startswith(_RANDOM)]
            self.metrics_ = dict(self.training_["metrics"])
        for note in random:
            warnings.warn(_unfetched(note), KindredWarning, stacklevel=2)
        self.classes_ = np.unique(labels)
        self.run_ = out
        self._temporary = temporary
        return self

    def transform(self, X):
        """Compute the embeddings of photos.

        Parameters
        ----------
        X : sequence of str, path or image

        Returns
        -------
        array of shape (n, d), float32
        """
        if self.network is not None and self.run is None:
            return embed(X, network=self.network, progress=self.progress)
        run = self.run if self.run is not None else getattr(self, "run_", None)
        if run is None:
            raise _not_fitted()("this Embedder is not fitted yet: call fit, or give it a run or a network")
        return embed(X, run=run, progress=self.progress)

    def fit_transform(self, X, y=None, split=None):
        """Train on photos and return their embeddings."""
        return self.fit(X, y, split).transform(X)

    def score(self, X, y):
        """Return Recall@1 of photos among themselves: how often the nearest other one has the same label."""
        return evaluate(self.transform(X), y, ["recall@1"])["recall@1"]

    def get_params(self, deep=True):
        """Return the parameters; with ``deep`` the settings too, as ``set__KEY``."""
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        out = {name: getattr(self, name) for name in names}
        if deep and self.set:
            out.update({f"set__{key}": value for key, value in self.set.items()})
        return out

    def set_params(self, **params):
        """Set parameters, and single settings as ``set__KEY``: ``set_params(**{"set__train.epochs": 5})``."""
        names = self.get_params(deep=False)
        for name, value in params.items():
            head, _, key = name.partition("__")
            if head == "set" and key:
                self.set = {**(self.set or {}), key: value}
            elif name in names:
                setattr(self, name, value)
            else:
                raise ValueError(f"Invalid parameter {name!r} for estimator {type(self).__name__}(): there are "
                                 f"{', '.join(names)}")
        return self

    def __repr__(self):
        defaults = inspect.signature(type(self).__init__).parameters
        shown = [f"{name}={value!r}" for name, value in self.get_params(deep=False).items()
                 if value is not defaults[name].default and value != defaults[name].default]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_is_fitted__(self):
        return self.run is not None or self.network is not None or hasattr(self, "run_")

    def __sklearn_tags__(self):
        from sklearn.base import BaseEstimator
        from sklearn.utils import TransformerTags
        tags = BaseEstimator().__sklearn_tags__()
        tags.estimator_type, tags.transformer_tags = "transformer", TransformerTags(preserves_dtype=[])
        tags.no_validation = tags.target_tags.required = True
        tags.input_tags.two_d_array, tags.input_tags.one_d_array, tags.input_tags.string = False, True, True
        return tags

    def _more_tags(self):
        return {"X_types": ["string"], "requires_y": True, "no_validation": True, "preserves_dtype": []}

    def __getstate__(self):
        state = dict(self.__dict__)
        if state.pop("_temporary", None) is not None:
            state["run_"] = None
            state["_network"] = {name: _read(os.path.join(self.run_, name)) for name in _NETWORK}
        return state

    def __setstate__(self, state):
        state = dict(state)
        network = state.pop("_network", None)
        if network is not None:
            state["_temporary"] = tempfile.TemporaryDirectory(prefix="kindred-")
            state["run_"] = os.path.join(state["_temporary"].name, "run")
            os.mkdir(state["run_"])
            for name, content in network.items():
                with open(os.path.join(state["run_"], name), "wb") as file:
                    file.write(content)
        self.__dict__.update(state)


def setting(value):
    """Return a setting as the command reads it: ``True`` is true, a list ``a,b``."""
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(setting(v) for v in value)
    return str(value)


def _check(photos):
    """Refuse photos that are neither images nor files that are there, before anything is written."""
    photo_paths([photo for photo in photos if not is_image(photo)])


def _unfetched(note):
    """Return this package's message for a pretrained network that could not be fetched."""
    name = re.search(r"\bweights (\w+) are not", note)
    return (f"{note.partition(';')[0]}. Give a network that is here, set={{'network.pretrained': 'model.onnx'}}, fetch "
            f"one where there is a network, kindred_ml.run('weights', 'get', {name[1] if name else 'NAME'!r}), or say "
            "that random weights are meant, set={'network.pretrained': 'none'}")


def _not_fitted():
    """The exception for an estimator that is not fitted: scikit-learn's, if it is installed."""
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return ValueError
    return NotFittedError


def _read(path):
    with open(path, "rb") as file:
        return file.read()
