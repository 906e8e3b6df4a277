"""Where the kindred binary is."""

import os
import shutil
import sys
from pathlib import Path

from .errors import KindredError

_NAME = "kindred.exe" if sys.platform == "win32" else "kindred"


def find():
    """Return the path of the kindred binary.

    It is the one that $KINDRED_BIN names, else the one in the wheel, else ``kindred`` on the PATH.

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
            raise KindredError(f"KINDRED_BIN is {named!r}, where no program is: let it name a kindred binary, or "
                               f"unset it")
        return os.path.abspath(path)
    bundled = Path(__file__).with_name("bin") / _NAME
    if bundled.is_file():
        return str(bundled)
    path = shutil.which("kindred")
    if path is None:
        raise KindredError(
            "there is no kindred binary: this installation of kindred_ml holds none and there is none on the PATH. "
            "Install a wheel of your system, or let $KINDRED_BIN name a binary that 'make build' made")
    return os.path.abspath(path)
