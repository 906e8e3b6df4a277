"""What the user sees of a command that is running."""

import sys


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
        progress = "line" if in_notebook() else "lines"
    if progress is True or progress == "lines":
        return Lines()
    if progress is False:
        return Silent()
    if progress == "line":
        return OneLine()
    if callable(progress):
        return Calls(progress)
    raise ValueError(f"progress is {progress!r}: want None, 'lines', 'line', False, or a function of a line")
