"""Maps, and what a notebook shows of them."""

import html
import re

import numpy as np
import pytest

from kindred_ml import KindredError, draw_map


def test_a_map(trained, paths, labels):
    X = trained.transform(paths)
    drawn = draw_map(X, labels, paths, method="pca")
    assert drawn.xy.shape == (len(paths), 2) and np.isfinite(drawn.xy).all() and repr(drawn) == "Map of 32 items"
    # The directions of largest variance, up to their signs.
    centred = X - X.mean(0)
    want = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    assert np.allclose(np.abs(drawn.xy), np.abs(want), atol=1e-3)
    for label in set(labels):
        assert label in drawn.page
    shown = drawn._repr_html_()
    assert shown.count("<") == 2 and shown.startswith("<iframe")
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1]) == drawn.page


def test_the_same_map_again(far_classes, kindred, tmp_path):
    X, labels = far_classes
    first, second = (draw_map(X[:90], labels[:90], iterations=50) for _ in range(2))
    assert np.array_equal(first.xy, second.xy)
    first.save(tmp_path / "map.html")
    assert (tmp_path / "map.html").read_text(encoding="utf-8") == first.page


def test_refused(kindred):
    with pytest.raises(ValueError, match="2 embeddings and 1 values of label"):
        draw_map(np.eye(2), [1])
    with pytest.raises(KindredError, match="method"):
        draw_map(np.eye(3), method="nothing")
