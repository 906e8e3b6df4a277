"""Photos that are no files: arrays, Pillow's images, encoded pictures. They become files."""

import io
import os
import struct
import zlib

import numpy as np

from .pictures import kind_of

# What Pillow's PNG keeps as it is; other modes become RGB.
_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")


def listed(photos, what="photo"):
    """Return photos as a list.

    Parameters
    ----------
    photos : str, path, image, array, sequence, pandas.Series or pandas.DataFrame
        A DataFrame has one column, or one called ``path``. An array of height x width x 1, 3 or 4, or of
        height x width bytes, is one photo; another with three or more dimensions is several.
    what : str
        What messages call one of them.

    Returns
    -------
    list
    """
    if isinstance(photos, (str, os.PathLike, bytes, bytearray, dict)) or _pillow(photos):
        return [photos]
    if hasattr(photos, "columns") and hasattr(photos, "iloc"):
        names = list(photos.columns)
        if len(names) != 1 and "path" not in names:
            raise ValueError(f"{what}s are a DataFrame with the columns {', '.join(map(str, names))}: give the column "
                             "that holds them, such as frame['path']")
        return list(photos["path" if "path" in names else names[0]])
    if not hasattr(photos, "__array__") or getattr(photos, "ndim", 1) == 1:
        return list(photos)
    array = np.asarray(photos)
    if array.ndim == 2 and array.dtype != np.uint8:
        raise TypeError(f"{what}s are a matrix of the shape {array.shape}: want paths or images; put one grey photo "
                        "into a list")
    if array.ndim == 2 or array.ndim == 3 and array.shape[2] in (1, 3, 4):
        return [array]
    return list(array)


def _pillow(photo):
    return hasattr(photo, "save") and hasattr(photo, "mode") and hasattr(photo, "getexif")


def is_image(photo):
    """Return whether a photo is its content, and no path."""
    return isinstance(photo, (bytearray, dict)) or hasattr(photo, "__array__") and getattr(photo, "ndim", 0) > 0 or \
        _pillow(photo)


def encoded(photo, what):
    """Return the content of a picture file for a photo that is no file.

    Parameters
    ----------
    photo : array, Pillow image, bytes, or dict with ``bytes`` as data sets of Hugging Face have it
        An array is height x width, or height x width x 1, 3 or 4: of whole numbers from 0 to 255, or of
        fractions from 0 to 1.
    what : str
        What messages call it.

    Returns
    -------
    bytes
    """
    if isinstance(photo, dict):
        if not isinstance(photo.get("bytes"), (bytes, bytearray)):
            raise TypeError(f"{what} is a dict without bytes of a picture: want a path or an image")
        photo = photo["bytes"]
    if isinstance(photo, (bytes, bytearray)):
        if kind_of(bytes(photo[:16])) is None and photo[:4] not in (b"II*\0", b"MM\0*"):
            raise ValueError(f"{what} is {len(photo)} bytes, which do not begin like a picture")
        return bytes(photo)
    if _pillow(photo):
        return _of_pillow(photo, what)
    return _of_array(np.asarray(photo), what)


def _of_pillow(photo, what):
    """A PNG of an image of Pillow, turned as its EXIF says, which a file is too.

    Pillow opens 16-bit pictures as whole numbers (``I``): those of a file stay 16 bits. Other whole
    numbers and fractions (``F``) are taken as in arrays; Pillow would cut them off at 255.
    """
    from PIL import ImageOps
    deep = photo.mode == "I" and photo.format is not None and 0 <= photo.getextrema()[0] and \
        photo.getextrema()[1] <= 0xffff
    photo = ImageOps.exif_transpose(photo) or photo
    if photo.mode in ("I", "F") and not deep:
        return _of_array(np.asarray(photo), what)
    if photo.mode not in _MODES:
        photo = photo.convert("I;16" if deep else "RGB")
    out = io.BytesIO()
    photo.save(out, "PNG", compress_level=1)
    return out.getvalue()


def _of_array(array, what):
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4) or 0 in array.shape:
        advice = ": move the channels to the end" if array.ndim == 3 and array.shape[0] in (1, 3, 4) else ""
        raise ValueError(f"{what} is an array of the shape {array.shape}: want height x width, or height x width x 1, "
                         f"3 or 4{advice}")
    kind, largest = array.dtype.kind, 1 if array.dtype.kind == "f" else 255
    if kind == "b":
        array, largest = array.astype(np.uint8), 1
    elif kind not in "iuf":
        raise TypeError(f"{what} is an array of {array.dtype}: want numbers")
    low, high = array.min(), array.max()
    if not (low >= 0 and high <= largest):  # and NaN
        raise ValueError(f"{what} is an array of {array.dtype} from {low} to {high}: want whole numbers from 0 to 255, "
                         "or fractions from 0 to 1")
    if largest == 1:
        array = np.rint(array.astype(np.float64) * 255)
    return _png(np.ascontiguousarray(array, dtype=np.uint8))


def _png(pixels):
    """A PNG of height x width x 1, 3 or 4 bytes."""
    height, width, channels = pixels.shape
    rows = np.zeros((height, 1 + width * channels), dtype=np.uint8)  # each begins with filter 0
    rows[:, 1:] = pixels.reshape(height, -1)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 1)) +
            chunk(b"IEND", b""))


def written(photo, k, folder, what):
    """Write photo k that is no file into a folder, and return its path."""
    content = encoded(photo, what)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"photo {k}.{kind_of(content[:16]) or 'tiff'}")
    with open(path, "wb") as file:
        file.write(content)
    return path


def called(path, *folders):
    """Return what answers call a photo: its path or, of one that was written into one of the folders, ``photo 3``."""
    if path and os.path.dirname(os.path.normpath(path)) in map(os.path.normpath, folders):
        return os.path.splitext(os.path.basename(path))[0]
    return path
