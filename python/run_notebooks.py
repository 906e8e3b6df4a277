"""Runs the notebooks and writes them with what came out.

    python3 python/run_notebooks.py --out dist/notebooks [NAME...]

It needs nbclient, nbformat and ipykernel, and what the notebooks import. Each runs in an empty folder, with the package
beside this file and the binary that KINDRED_BIN names.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(path, timeout=900):
    """Run a notebook and return it with its outputs.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails.
    """
    import nbformat
    from nbclient import NotebookClient
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryDirectory(prefix="kindred-") as folder:
        NotebookClient(notebook, timeout=timeout, kernel_name="python3",
                       resources={"metadata": {"path": folder}}).execute()
    return notebook


def main():
    """Run what the command line names, by default all."""
    import nbformat
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", required=True, help="folder for the notebooks with their outputs")
    parser.add_argument("names", nargs="*", help="of notebooks, without .ipynb; all by default")
    options = parser.parse_args()
    binary = os.environ.get("KINDRED_BIN")
    if binary:
        os.environ["KINDRED_BIN"] = os.path.abspath(binary)
    folder = HERE / "notebooks"
    chosen = [folder / f"{name}.ipynb" for name in options.names] or sorted(folder.glob("*.ipynb"))
    os.makedirs(options.out, exist_ok=True)
    for path in chosen:
        begun = time.monotonic()
        notebook = run(path)
        nbformat.write(notebook, os.path.join(options.out, path.name))
        print(f"{path.stem}: {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
