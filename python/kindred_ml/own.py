"""A loss or a miner in Python, for training: the other end of ``kindred train --own``."""

import hashlib
import inspect
import json
import struct
import traceback

import numpy as np

# The most bytes of a traceback that are sent.
_REASON = 1 << 20


class Served:
    """A loss or a miner that answers the requests of a training.

    Parameters
    ----------
    loss, miner : callable, optional
        One of them; see :class:`kindred_ml.Embedder`.

    Attributes
    ----------
    error : Exception or None
        What the function raised.
    """

    def __init__(self, loss=None, miner=None):
        if (loss is None) == (miner is None):
            raise ValueError("give either a loss or a miner: a loss of the whole batch chooses no triplets")
        self.kind, self.function = ("loss", loss) if miner is None else ("miner", miner)
        if not callable(self.function):
            raise TypeError(f"the {self.kind} is {self.function!r}: give a function of embeddings and labels")
        self.error = None

    def identity(self):
        """What a run is continued with: the kind, the name and a digest of the source."""
        function = self.function
        shown = function if hasattr(function, "__qualname__") else type(function)
        try:
            source = inspect.getsource(shown)
        except (OSError, TypeError):
            code = getattr(shown, "__code__", None)
            source = repr((code.co_code, code.co_consts, code.co_names)) if code else repr(shown)
        return {"kind": self.kind, "name": f"{shown.__module__}.{shown.__qualname__}",
                "digest": hashlib.sha256(source.encode()).hexdigest()}

    def serve(self, stdin, stdout):
        """Answer requests from ``stdout`` on ``stdin`` until there are no more; return what was read of the rest."""
        try:
            self._send(stdin, _text(json.dumps(self.identity())))
            while True:
                head = _read(stdout, 4)
                if head != b"KRQ1":
                    return head
                kind, n, d = struct.unpack("<cII", _read(stdout, 9))
                embeddings = np.frombuffer(_read(stdout, 4 * n * d), "<f4").reshape(n, d).astype(np.float32)
                labels = np.frombuffer(_read(stdout, 8 * n), "<i8").astype(np.int64)
                try:
                    answer = kind + (self._loss if self.kind == "loss" else self._miner)(embeddings, labels)
                except Exception as e:  # the run ends with it
                    self.error = e
                    answer = b"E" + _text(traceback.format_exc()[-_REASON // 4:])
                self._send(stdin, answer)
        except (OSError, ValueError, struct.error):
            return b""  # the command has ended, and says why

    def _send(self, stdin, content):
        stdin.write(content)
        stdin.flush()

    def _loss(self, embeddings, labels):
        answer = self.function(embeddings, labels)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise TypeError(f"the loss returned {type(answer).__name__}: it must return a number and its gradient")
        value, gradient = float(answer[0]), np.asarray(answer[1], dtype="<f4")
        if gradient.shape != embeddings.shape:
            raise ValueError(f"the loss returned a gradient of shape {gradient.shape}: it must have that of the "
                             f"embeddings, {embeddings.shape}")
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            raise ValueError(f"the loss returned {value} with a gradient between {gradient.min()} and "
                             f"{gradient.max()}: all must be finite")
        return struct.pack("<d", value) + gradient.tobytes()

    def _miner(self, embeddings, labels):
        triplets = np.asarray(self.function(embeddings, labels))
        if triplets.size == 0:
            triplets = np.zeros((0, 3), dtype=np.int64)
        if triplets.ndim != 2 or triplets.shape[1] != 3 or triplets.dtype.kind not in "iu":
            raise ValueError(f"the miner returned an array of shape {triplets.shape} and type {triplets.dtype}: it must be "
                             f"of shape (m, 3) and of integers, rows of an anchor, a positive and a negative")
        if triplets.size and (triplets.min() < 0 or triplets.max() >= len(labels)):
            raise ValueError(f"the miner returned rows from {triplets.min()} to {triplets.max()}: the batch has rows 0 to "
                             f"{len(labels) - 1}")
        return struct.pack("<I", len(triplets)) + triplets.astype("<i4").tobytes()


def _text(text):
    content = text.encode("utf-8", "replace")
    return struct.pack("<I", len(content)) + content


def _read(stream, size):
    """Read size bytes, or fewer at the end of the stream."""
    blocks = []
    while size > 0:
        block = stream.read(size)
        if not block:
            break
        blocks.append(block)
        size -= len(block)
    return b"".join(blocks)
