"""What the user sees of a command that is running."""

import html
import re
import sys

# A line that counts: "epoch 3/8  loss 5.08".
_COUNTS = re.compile(r"(?P<what>.*?\b(?P<done>\d+)/(?P<all>\d+))\b\s*(?P<rest>.*)")


class Lines:
    """Shows every line that a command says on standard error."""

    def __call__(self, line):
        print(line, file=sys.stderr, flush=True)

    def close(self):
        """Nothing is left to be written."""


class OneLine:
    """Shows lines as a notebook likes them: one that begins like the line before takes its place.

    So the epochs of a training are one line that changes, and notes stay.
    """

    def __init__(self):
        self._word = None
        self._width = 0

    def __call__(self, line):
        word = line.replace(":", " ").split(" ", 1)[0]
        if self._word is None:
            begin = ""
        elif word and word == self._word:
            begin = "\r"
        else:
            begin, self._width = "\n", 0
        print(begin + line.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._word, self._width = word, len(line)

    def close(self):
        """End the last line."""
        if self._word is not None:
            print(file=sys.stderr, flush=True)


class Bar(OneLine):
    """Shows lines that count, such as ``epoch 3/8``, as a bar of a notebook, and the others as OneLine does.

    Parameters
    ----------
    show : callable, optional
        Puts HTML into the notebook, and returns what has a method ``update`` for it; by default IPython's.
    """

    def __init__(self, show=None):
        super().__init__()
        self._show = show or _show
        self._bar = None

    def __call__(self, line):
        counts = _COUNTS.match(line)
        if counts is None or int(counts["all"]) < 1:
            self._bar = None
            super().__call__(line)
            return
        said = html.escape(f"{counts['what']} {counts['rest']}".rstrip())
        text = f'<progress value="{counts["done"]}" max="{counts["all"]}"></progress> {said}'
        if self._bar is None:
            self.close()
            self._word, self._width = None, 0
            self._bar = self._show(text)
        else:
            self._bar.update(text)


def _show(text):
    """Put HTML into the notebook, and return what changes it."""
    from IPython.display import HTML, display as into_notebook

    class Handle:
        def __init__(self):
            self._handle = into_notebook(HTML(text), display_id=True)

        def update(self, text):
            self._handle.update(HTML(text))

    return Handle()


class Calls:
    """Hands the lines to a function."""

    def __init__(self, function):
        self._function = function

    def __call__(self, line):
        self._function(line)

    def close(self):
        """Nothing is left to be written."""


class Silent(Lines):
    """Shows nothing."""

    def __call__(self, line):
        pass


def in_notebook():
    """Whether this is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def display(progress):
    """Return what shows progress: see :func:`kindred_ml.command.run`."""
    if progress is None:
        progress = "bar" if in_notebook() else "lines"
    if progress is True or progress == "lines":
        return Lines()
    if progress is False:
        return Silent()
    if progress == "line":
        return OneLine()
    if progress == "bar":
        return Bar()
    if callable(progress):
        return Calls(progress)
    raise ValueError(f"progress is {progress!r}: want None, 'lines', 'line', 'bar', False, or a function of a line")
