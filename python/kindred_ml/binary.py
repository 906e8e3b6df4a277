"""Where the kindred binary is."""

import os
import shutil
import sys
from pathlib import Path

from .errors import KindredError

_NAME = "kindred.exe" if sys.platform == "win32" else "kindred"


def find():
    """Return the path of the kindred binary.

    It is the one that $KINDRED_BIN names, else the one in the wheel, else ``bin/kindred`` of the checkout that
    this package is in, else ``kindred`` on the PATH.

    Returns
    -------
    str

    Raises
    ------
    KindredError
        If there is none.
    """
    named = os.environ.get("KINDRED_BIN")
    if named:
        path = shutil.which(named)
        if path is None:
            raise KindredError(f"KINDRED_BIN is {named!r}, which is not a program: set it to a kindred binary, or "
                               f"unset it")
        return os.path.abspath(path)
    bundled = Path(__file__).with_name("bin") / _NAME
    if bundled.is_file():
        return str(bundled)
    checkout = Path(__file__).resolve().parents[2]
    built = checkout / "bin" / _NAME
    if (checkout / "cmd" / "kindred").is_dir() and built.is_file():
        return str(built)
    path = shutil.which("kindred")
    if path is None:
        raise KindredError(
            "no kindred binary was found, neither in this installation of kindred_ml nor on the PATH. "
            "Install a wheel for your system, run 'make build' in the checkout, or set KINDRED_BIN to a binary")
    return os.path.abspath(path)
