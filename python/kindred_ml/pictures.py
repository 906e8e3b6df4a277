"""Tables of HTML with small pictures in them."""

import base64
import html
import io
import os

# The bounds of what a page gets: bytes of a picture that goes in as it is, the side of one that
# Pillow makes small, and pictures and rows of a page.
LARGEST = 64 << 10
SIDE = 96
PICTURES = 200
ROWS = 200

_KINDS = ((b"\x89PNG", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF8", "gif"), (b"BM", "bmp"))


def thumbnail(path):
    """Return the address of a small picture of a file, with the picture itself in it.

    Parameters
    ----------
    path : str

    Returns
    -------
    str or None
        A ``data:`` address; None if the file is no picture that a page can show, or is large and
        Pillow is not installed.
    """
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST + 1)
    except OSError:
        return None
    kind = kind_of(content)
    if kind is None or len(content) > LARGEST:
        content, kind = _shrunk(path), "jpeg"
    if content is None:
        return None
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def kind_of(content):
    """Return what a picture's content begins like: png, jpeg, gif, bmp or webp, else None."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    return next((name for begin, name in _KINDS if content.startswith(begin)), None)


def _shrunk(path):
    """A small JPEG of a picture, None without Pillow or for what it cannot read."""
    try:
        from PIL import Image
    except ImportError:
        return None
    try:
        with Image.open(path) as picture:
            picture.draft("RGB", (SIDE, SIDE))
            picture = picture.convert("RGB")
            picture.thumbnail((SIDE, SIDE))
            out = io.BytesIO()
            picture.save(out, "JPEG", quality=80)
            return out.getvalue()
    except Exception:  # a damaged picture: readers raise whatever they like
        return None


def table(rows):
    """Return a table of rows, with the pictures that their ``query`` and ``path`` name.

    Parameters
    ----------
    rows : list of dict

    Returns
    -------
    str
        HTML. All texts are escaped.
    """
    if not rows:
        return "<p>nothing was found</p>"
    pictures = {}

    def cell(name, value):
        text = html.escape(_text(value))
        if name not in ("query", "path") or not isinstance(value, str):
            return f"<td>{text}</td>"
        if value not in pictures and len(pictures) < PICTURES:
            pictures[value] = thumbnail(value)
        address = pictures.get(value)
        if address is None:
            return f"<td>{text}</td>"
        return (f'<td><img src="{address}" alt="" style="max-width:{SIDE}px;max-height:{SIDE}px"><br>'
                f"<small>{html.escape(os.path.basename(value))}</small></td>")

    names = [n for n in rows[0] if any(row.get(n) not in (None, "", {}) for row in rows)]
    head = "".join(f"<th>{html.escape(str(n))}</th>" for n in names)
    body = "".join("<tr>" + "".join(cell(n, row.get(n)) for n in names) + "</tr>" for row in rows[:ROWS])
    more = f"<p>{len(rows) - ROWS} more rows</p>" if len(rows) > ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _text(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{k}: {v}" for k, v in value.items())
    return str(value)
