"""The notebooks: they run, and are kept without what came out of them."""

import ast
import importlib.util
import json
import os

import pytest

from conftest import HERE

import kindred_ml

NOTEBOOKS = sorted((HERE.parent / "notebooks").glob("*.ipynb"))


def code(path):
    """The cells of code of a notebook, as kept."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_there_are_some():
    assert [p.stem for p in NOTEBOOKS] == ["collapse", "photos_to_search", "sceptics_table"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_kept_without_outputs(path):
    for cell in code(path):
        assert cell["outputs"] == [] and cell["execution_count"] is None
        for node in ast.walk(ast.parse("".join(cell["source"]))):
            if isinstance(node, ast.ImportFrom) and node.module == "kindred_ml":
                assert {name.name for name in node.names} <= set(kindred_ml.__all__)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_runs(path, kindred, monkeypatch):
    for name in ["nbclient", "nbformat", "ipykernel", "pandas", "sklearn", "PIL"]:
        pytest.importorskip(name, reason=f"notebooks use {name}")
    monkeypatch.delenv("PHOTOS", raising=False)
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    spec = importlib.util.spec_from_file_location("run_notebooks", HERE.parent / "run_notebooks.py")
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    shown = json.dumps([cell.get("outputs", []) for cell in runner.run(path).cells if cell["cell_type"] == "code"])
    if path.stem != "sceptics_table":
        assert "<iframe" in shown  # a map
    if path.stem == "collapse":
        assert "all: collapsed" in shown and "easy: structured" in shown
    if path.stem == "photos_to_search":
        assert "<progress" in shown and "data:image/png" in shown
