"""Small photos and a network for them, made once."""

import gc
import importlib.util
import os
import struct
import sys
import warnings
import zlib
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

# Wheels can be built and looked at without numpy; all else is left out.
NUMPY = importlib.util.find_spec("numpy") is not None
collect_ignore_glob = [] if NUMPY else [p.name for p in HERE.glob("test_*.py") if p.name != "test_wheels.py"]


def pytest_report_header():
    return None if NUMPY else "there is no numpy: only the wheels are tested"


# What sync knows the file of a photo by; added to where the photo comes from a file of this machine.
FILE = ["file.digest", "file.modified", "file.set", "file.size"]


def telling(fields):
    """An item's columns without those of its file, which must be there."""
    assert set(FILE) - {"file.modified"} <= set(fields) and set(fields) <= set(FILE) | {"label"}, fields
    return {name: value for name, value in fields.items() if name not in FILE}


# What makes training take a second.
SMALL = {"train.epochs": 1, "data.size": 16, "network.pretrained": "none"}


def png(width, height, grey):
    """The content of a grey PNG with grey(x, y) in 0 to 255."""
    rows = b"".join(b"\0" + bytes(grey(x, y) for x in range(width)) for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def photo(kind, number):
    """A photo of one of four kinds: stripes of either direction, diagonals, a half."""
    def grey(x, y):
        light = [x // 3 % 2, y // 3 % 2, (x + y) // 3 % 2, x > 5][kind]
        return (180 if light else 20) + (x * 7 + y * 13 + number * 31) * (number + 3) % 50

    return png(12, 12, grey)


@pytest.fixture(autouse=True)
def nothing_left_open():
    """Fail the test that leaves a file or socket open. A later test that counts warnings would fail in its place."""
    yield
    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always", ResourceWarning)
        gc.collect()
    assert not [str(w.message) for w in left if issubclass(w.category, ResourceWarning)]


@pytest.fixture(scope="session")
def kindred():
    """The binary under test."""
    path = os.environ.get("KINDRED_BIN")
    if not path:
        built = HERE.parents[1] / "bin" / "kindred"
        if not built.is_file():
            pytest.skip("there is no binary: make build makes it, KINDRED_BIN names another one")
        path = str(built)
    os.environ["KINDRED_BIN"] = os.path.abspath(path)
    return os.environ["KINDRED_BIN"]


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """A folder with four classes of eight photos."""
    folder = tmp_path_factory.mktemp("set") / "photos"
    for kind in range(4):
        (folder / f"kind{kind}").mkdir(parents=True)
        for number in range(8):
            (folder / f"kind{kind}" / f"{number}.png").write_bytes(photo(kind, number))
    return folder


@pytest.fixture(scope="session")
def paths(photos):
    return [str(p) for p in sorted(photos.glob("*/*.png"))]


@pytest.fixture(scope="session")
def labels(paths):
    return [Path(p).parent.name for p in paths]


@pytest.fixture(scope="session")
def trained(kindred, paths, labels):
    """An Embedder that was trained on the photos."""
    from kindred_ml import Embedder
    return Embedder(set=SMALL, progress=False).fit(paths, labels)


@pytest.fixture(scope="session")
def far_classes():
    """Embeddings of 60 classes, which is enough to calibrate, with their labels."""
    import numpy as np
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(60), 6)
    return (3 * random.normal(size=(60, 8))[labels] + random.normal(size=(360, 8))).astype(np.float32), labels
