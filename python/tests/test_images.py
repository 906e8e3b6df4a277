"""Photos that are no files: arrays, Pillow's images, columns of frames."""

import io

import numpy as np
import pytest

import kindred_ml
from conftest import SMALL, photo
from kindred_ml import images
from kindred_ml.files import photo_paths


@pytest.fixture(scope="module")
def arrays(paths):
    """The photos as arrays of height x width."""
    image = pytest.importorskip("PIL.Image")
    return [np.asarray(image.open(p)) for p in paths]


def test_arrays_are_the_files(trained, paths, arrays):
    want = trained.transform(paths[:4])
    several = np.stack(arrays[:4])
    for what in [arrays[:4], several, several[..., None], [a.astype(np.int64) for a in arrays[:4]],
                 [a / 255 for a in arrays[:4]], [(a / 255).astype(np.float32) for a in arrays[:4]],
                 [arrays[0], paths[1], arrays[2], paths[3]]]:
        assert np.array_equal(trained.transform(what), want)
    one = np.repeat(arrays[0][..., None], 3, axis=2)
    assert trained.transform(one).shape == (1, 128)  # height x width x 3 is one photo
    assert np.array_equal(trained.transform(one), trained.transform([one]))
    assert np.array_equal(trained.transform([arrays[0] > 99]), trained.transform([(arrays[0] > 99) * 255]))


def test_images_of_pillow_are_the_files(trained, paths, tmp_path):
    image = pytest.importorskip("PIL.Image")
    want = trained.transform(paths[:3])
    opened = [image.open(p) for p in paths[:3]]
    for what in [opened, [i.convert("RGB") for i in opened], [i.convert("P") for i in opened]]:
        assert np.array_equal(trained.transform(what), want)
    assert np.array_equal(trained.transform(opened[0]), want[:1])
    # One that its EXIF turns is turned, as its file is.
    turned, exif = opened[1].convert("RGB"), image.Exif()
    exif[0x112] = 6
    turned.save(tmp_path / "turned.png", exif=exif)
    assert np.array_equal(trained.transform(image.open(tmp_path / "turned.png")),
                          trained.transform(tmp_path / "turned.png"))
    assert len(images.encoded(opened[0].convert("CMYK"), "it")) > 50


def test_deep_images_of_pillow(tmp_path):
    image = pytest.importorskip("PIL.Image")
    values = np.arange(1, 65536, 257, dtype=np.int32).reshape(15, 17)
    image.fromarray(values.astype(np.uint16)).save(tmp_path / "deep.png")
    opened = image.open(tmp_path / "deep.png")
    kept = np.asarray(image.open(io.BytesIO(images.encoded(opened, "it"))))
    assert np.array_equal(kept, values)
    for made, want in [(image.fromarray(values % 256), values % 256),
                       (image.fromarray((values / 65535).astype(np.float32)), np.rint(values / 65535 * 255))]:
        assert np.array_equal(np.asarray(image.open(io.BytesIO(images.encoded(made, "it")))), want)
    for made in [image.fromarray(values), image.fromarray(values.astype(np.float32))]:
        with pytest.raises(ValueError, match="it is an array of .* from 1.* to 65"):
            images.encoded(made, "it")


def test_columns_of_frames(trained, paths, arrays):
    pandas = pytest.importorskip("pandas")
    want = trained.transform(paths[:3])
    frame = pandas.DataFrame({"path": paths[:3], "price": [1, 2, 3]}, index=[7, 8, 9])
    with open(paths[0], "rb") as file:
        content = file.read()
    for what in [frame["path"], frame, frame[["path"]], pandas.DataFrame({"file": paths[:3]}),
                 pandas.Series(arrays[:3]), np.array(paths[:3]), np.array(paths[:3], dtype=object)]:
        assert np.array_equal(trained.transform(what), want)
    assert np.array_equal(trained.transform([{"bytes": content, "path": None}]), want[:1])
    with pytest.raises(ValueError, match="the columns price, cost: give the column"):
        trained.transform(pandas.DataFrame({"price": [1], "cost": [2]}))
    with pytest.raises(TypeError, match="photo 1 is missing"):
        trained.transform(pandas.Series([paths[0], None]))


def test_a_training_on_arrays(kindred, arrays, labels, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"image": arrays, "label": labels})
    embedder = kindred_ml.Embedder(set=SMALL, folder=tmp_path / "kept", progress=False)
    X = embedder.fit_transform(frame["image"], frame["label"])
    assert X.shape == (32, 128) and len(list((tmp_path / "kept" / "photos").iterdir())) == 32
    assert embedder.score(frame["image"], frame["label"]) > 0


def test_what_is_found_among_arrays(trained, arrays, labels, far_classes):
    found = kindred_ml.search(arrays[0], run=trained.run_, in_=arrays, neighbours=3, progress=False, as_frame=False)
    assert {n.query for n in found} == {"photo 0"} and all(n.path.startswith("photo ") for n in found)
    assert kindred_ml.draw_map(np.eye(4, dtype=np.float32), photos=arrays[:4], method="pca").xy.shape == (4, 2)


def test_an_index_keeps_files(kindred, trained, arrays, paths, tmp_path):
    with pytest.raises(TypeError, match="save it as a file first"):
        kindred_ml.Index.create(tmp_path / "i.index", arrays, run=trained.run_, progress=False)
    index = kindred_ml.Index.create(tmp_path / "i.index", paths, run=trained.run_, progress=False)
    found = index.search(arrays[0], neighbours=2, as_frame=False)
    assert [n.query for n in found] == ["photo 0"] * 2 and found[0].distance == 0


@pytest.mark.parametrize("what, why", [
    (np.zeros((3, 20, 30)), "move the channels to the end"), (np.zeros((20, 30, 2)), "want height x width"),
    (np.zeros((0, 4)), "want height x width"), (np.full((4, 4), 256), "whole numbers from 0 to 255"),
    (np.full((4, 4), -1), "from -1 to -1"), (np.full((4, 4), 2.0), "fractions from 0 to 1"),
    (np.full((4, 4), np.nan), "from nan to nan"), (np.full((4, 4), "a"), "want numbers"),
    ({"bytes": None, "path": "a"}, "without bytes"), ({"bytes": b"hello"}, "do not begin like a picture"),
    (7, "a int: want a str, a path, an array or an image"), ([1, 2], "a list: want")])
def test_what_is_no_photo(tmp_path, what, why):
    with pytest.raises((TypeError, ValueError), match=f"photo 0 is .*{why}") as e:
        photo_paths([what], str(tmp_path))
    assert len(str(e.value)) < 200


def test_a_matrix_is_no_photos(tmp_path):
    with pytest.raises(TypeError, match=r"a matrix of the shape \(5, 3\): want paths or images"):
        photo_paths(np.zeros((5, 3)), str(tmp_path))


def test_the_content_of_a_picture(tmp_path):
    path, = photo_paths(bytearray(photo(0, 0)), str(tmp_path / "new"))
    with open(path, "rb") as file:
        assert file.read() == photo(0, 0)
    assert path.endswith("photo 0.png") and images.called(path, str(tmp_path / "new")) == "photo 0"
    assert images.called(path, str(tmp_path)) == path


def test_images_decode_to_what_they_were(tmp_path):
    image = pytest.importorskip("PIL.Image")
    random = np.random.default_rng(1)
    for shape in [(1, 1), (5, 7), (5, 7, 3), (6, 3, 4)]:
        array = random.integers(0, 256, shape, dtype=np.uint8)
        assert np.array_equal(np.asarray(image.open(io.BytesIO(images.encoded(array, "it")))), array)
