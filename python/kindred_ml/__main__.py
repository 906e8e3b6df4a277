"""``python -m kindred_ml`` is kindred."""

import os
import subprocess
import sys

from .binary import find
from .errors import KindredError


def main():
    """Run the binary in place of this process, with its arguments."""
    try:
        program = find()
    except KindredError as e:
        sys.exit(f"kindred_ml: {e}")
    command = [program, *sys.argv[1:]]
    if sys.platform != "win32":
        os.execv(program, command)
    # Windows has no exec: Ctrl-C reaches both, and the binary decides what comes of it.
    process = subprocess.Popen(command)
    while True:
        try:
            sys.exit(process.wait())
        except KeyboardInterrupt:
            continue


if __name__ == "__main__":
    main()
