"""Embedder, and what scikit-learn asks of it."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import kindred_ml
from conftest import HERE, SMALL
from kindred_ml import Embedder


def test_transform_is_kindred_embed_to_the_byte(kindred, trained, paths, labels, tmp_path):
    manifest = tmp_path / "m.csv"
    manifest.write_text("path,label\n" + "".join(f"{p},{y}\n" for p, y in zip(paths, labels)))
    subprocess.run([kindred, "embed", trained.run_, str(manifest), "--allow-outside", "--out", str(tmp_path / "e.npy")],
                   check=True, capture_output=True)
    want = np.load(tmp_path / "e.npy")
    got = trained.transform(paths)
    assert got.dtype == want.dtype and got.shape == want.shape == (32, 128)
    assert got.tobytes() == want.tobytes()
    order = [5, 31, 0, 7]
    assert trained.transform([paths[k] for k in order]).tobytes() == want[order].tobytes()


def test_fit_is_kindred_train_to_the_byte(kindred, trained, paths, labels, tmp_path):
    manifest = tmp_path / "m.csv"
    manifest.write_text("path,label\n" + "".join(f"{p},{y}\n" for p, y in zip(paths, labels)))
    settings = [f"--set={key}={value}" for key, value in SMALL.items()]
    subprocess.run([kindred, "train", str(manifest), "--allow-outside", "--out", str(tmp_path / "run"), *settings],
                   check=True, capture_output=True)
    with open(tmp_path / "run" / "model.safetensors", "rb") as want, \
            open(f"{trained.run_}/model.safetensors", "rb") as got:
        assert got.read() == want.read()


def test_what_fit_leaves(trained, labels):
    assert trained.training_["epochs"] == 1
    assert 0 <= trained.metrics_["test_recall@1"] <= 1
    assert trained.classes_.tolist() == sorted(set(labels))


def test_settings_and_seed_reach_the_training(kindred, paths, labels, tmp_path):
    first = Embedder(set={**SMALL, "train.epochs": 2, "network.dim": 7, "network.normalize": True}, seed=5,
                     folder=tmp_path / "kept", progress=False).fit(paths, labels)
    assert first.training_["epochs"] == 2
    X = first.transform(paths)
    assert X.shape == (32, 7) and np.allclose(np.linalg.norm(X, axis=1), 1, atol=1e-5)
    again = Embedder(run=tmp_path / "kept" / "run", progress=False)
    assert np.array_equal(again.transform(paths[:3]), X[:3])
    assert not np.array_equal(first.set_params(seed=6).fit(paths, labels).transform(paths), X)  # its own run: replaced
    with pytest.raises(kindred_ml.KindredError, match="--force|run"):
        Embedder(set=SMALL, folder=tmp_path / "kept", progress=False).fit(paths, labels)
    Embedder(set=SMALL, folder=tmp_path / "kept", force=True, progress=False).fit(paths, labels)


def test_photos_one_by_one_and_none(trained, paths):
    want = trained.transform(paths[:3])
    assert b"".join(trained.transform([p]).tobytes() for p in paths[:3]) == want.tobytes()
    with pytest.raises(ValueError, match="no photos"):
        trained.transform([])


def test_fit_again_is_the_same_and_leaves_the_parameters(kindred, paths, labels):
    e = Embedder(set=SMALL, progress=False)
    before = str(e.get_params())
    assert e.fit(paths, labels) is e
    first = e.transform(paths[:3])
    assert e.fit(paths, labels).transform(paths[:3]).tobytes() == first.tobytes()
    assert str(e.get_params()) == before


def test_a_split_of_ones_own(kindred, paths, labels):
    split = ["test" if y == "kind3" else "train" for y in labels]
    lines = []
    Embedder(set=SMALL, progress=lines.append).fit(paths, labels, split)
    assert any(line.split()[:5] == ["training", "24", "images", "of", "3"] for line in lines), lines


def test_a_run_or_a_network_is_not_trained(trained, paths):
    frozen = Embedder(run=trained.run_, progress=False)
    assert np.array_equal(frozen.fit_transform(paths), trained.transform(paths))
    with pytest.raises(FileNotFoundError, match="does not exist"):
        Embedder(run="nowhere").fit(paths)
    saved = Embedder(network=trained.run_, progress=False)
    assert saved.fit(paths).transform(paths[:2]).shape == (2, 128)
    with pytest.raises(ValueError, match="not both"):
        Embedder(run="a", network="b").fit(paths)
    with pytest.raises(ValueError, match="training needs labels"):
        Embedder().fit(paths)
    with pytest.raises(ValueError, match="not fitted yet"):
        Embedder().transform(paths)


def test_parameters():
    e = Embedder(set={"train.epochs": 3})
    assert repr(e) == "Embedder(set={'train.epochs': 3})"
    assert e.get_params(deep=False)["set"] == {"train.epochs": 3}
    assert e.get_params()["set__train.epochs"] == 3
    settings = e.set
    assert e.set_params(**{"set__train.lr": 0.1, "seed": 2}) is e
    assert e.set == {"train.epochs": 3, "train.lr": 0.1} and e.seed == 2
    assert settings == {"train.epochs": 3}
    with pytest.raises(ValueError, match="Invalid parameter 'epochs'"):
        e.set_params(epochs=3)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_a_copy_has_the_network(kindred, paths, labels, duplicate):
    e = Embedder(set=SMALL, progress=False).fit(paths, labels)
    X = e.transform(paths[:2])
    other = duplicate(e)
    del e
    assert np.array_equal(other.transform(paths[:2]), X)
    assert other.metrics_["test_recall@1"] >= 0


def test_without_scikit_learn(kindred, trained, paths):
    """The package loads neither scikit-learn nor pandas by itself."""
    script = (f"import sys; sys.path.insert(0, {str(HERE.parent)!r}); sys.modules['sklearn'] = None\n"
              f"import kindred_ml\n"
              f"e = kindred_ml.Embedder(run={trained.run_!r}, progress=False)\n"
              f"print(e.fit_transform({paths[:2]!r}).shape, 'pandas' in sys.modules)\n"
              f"try: kindred_ml.Embedder().transform({paths[:2]!r})\n"
              f"except ValueError as e: print(e)\n")
    out = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert out.startswith("(2, 128) False\nthis Embedder is not fitted yet")


# What scikit-learn asks.


@pytest.fixture
def checks():
    return pytest.importorskip("sklearn.utils.estimator_checks", reason="needs scikit-learn")


# These of check_estimator need no matrix X. All others make one of numbers.
APPLY = ["check_parameters_default_constructible", "check_no_attributes_set_in_init", "check_get_params_invariance",
         "check_set_params", "check_estimator_cloneable", "check_estimator_repr",
         "check_do_not_raise_errors_in_init_or_set_param"]


@pytest.mark.parametrize("name", APPLY)
def test_checks_of_scikit_learn(checks, name):
    check = getattr(checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check("Embedder", Embedder())


def test_check_estimator_finds_no_fault(checks):
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it cannot test what takes no matrix
        checks.check_estimator(Embedder())


def test_clone(checks):
    from sklearn.base import clone
    e = Embedder(set={"train.epochs": 3}, seed=4)
    other = clone(e)
    assert other is not e and other.get_params() == e.get_params() and other.set is not e.set


def test_not_fitted(checks, paths):
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted
    with pytest.raises(NotFittedError):
        Embedder().transform(paths)
    with pytest.raises(NotFittedError):
        check_is_fitted(Embedder())
    check_is_fitted(Embedder(run="x"))


def test_pipeline(checks, kindred, paths, labels):
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    model = make_pipeline(Embedder(set=SMALL, progress=False), KNeighborsClassifier(1)).fit(paths, labels)
    assert model.score(paths, labels) == 1.0
    model.set_params(**{"embedder__set__train.epochs": 2})
    assert model[0].set["train.epochs"] == 2


def test_grid_search(checks, kindred, paths, labels):
    from sklearn.model_selection import GridSearchCV
    search = GridSearchCV(Embedder(set=SMALL, progress=False), {"set__network.dim": [2, 5]}, cv=2, error_score="raise")
    search.fit(np.array(paths), labels)
    assert search.best_params_["set__network.dim"] in (2, 5)
    assert search.best_estimator_.transform(paths[:2]).shape[1] == search.best_params_["set__network.dim"]
    assert all(0 <= s <= 1 for s in search.cv_results_["mean_test_score"])
