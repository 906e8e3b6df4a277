"""Running kindred's commands."""

import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

from .binary import find
from .errors import KindredError
from .progress import display

# The most bytes that a command prints, and the most of a line and lines on its standard error that are kept.
_MOST, _LINE, _LINES = 1 << 30, 1 << 16, 1000
# The seconds in which a command that has ended closes its output.
_CLOSED = 10


def run(*arguments, stdin=b"", progress=None, loss=None, miner=None):
    """Run a command and return the JSON document that it prints.

    Parameters
    ----------
    *arguments : str
        The command and its arguments, without ``--json``.
    stdin : bytes
        Its standard input.
    progress : None, 'lines', 'line', 'bar', False or callable
        What becomes of the lines on its standard error: they are shown one below the other
        (``'lines'``), in place of each other (``'line'``), as a bar where they count (``'bar'``, the
        default in a notebook), not at all (False), or handed to a function.
    loss, miner : callable, optional
        One of them, for ``run("train", ...)``: see :class:`kindred_ml.Embedder`. A run continues, with
        ``--resume``, only with the same function.

    Returns
    -------
    dict

    Raises
    ------
    KindredError
        If the command fails, with what it said, or prints what is no JSON object.
    KeyboardInterrupt
        If it is interrupted: the command is told to stop, and has ended. Training finishes the
        step that it is in; a second interrupt ends it at once.
    """
    served = None
    if loss is not None or miner is not None:
        from .own import Served
        served = Served(loss, miner)
        arguments = (arguments[0], f"--own={served.kind}", *arguments[1:])
    show = display(progress)
    command = [find(), "--json", *(os.fspath(a) for a in arguments)]
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   **_apart())
    except (OSError, ValueError) as e:
        raise KindredError(f"{command[0]} cannot be started: {e}", command=command) from e
    said, out = collections.deque(maxlen=_LINES), []
    # A process that the command started may keep these open for longer: then the threads close them.
    threads = [threading.Thread(target=_closing, args=(process.stderr, _lines, process.stderr, show, said), daemon=True),
               threading.Thread(target=_closing, args=(process.stdout, _printed, process, out, served), daemon=True)]
    if served is None:
        threads.append(threading.Thread(target=_feed, args=(process.stdin, stdin), daemon=True))
    for thread in threads:
        thread.start()
    try:
        status = _wait(process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        end = time.monotonic() + _CLOSED
        for thread in threads:
            thread.join(max(0, end - time.monotonic()))
        closed = not any(thread.is_alive() for thread in threads)
        if closed:
            process.stdout.close()
            process.stderr.close()
        show.close()
    if sum(map(len, out)) > _MOST:
        raise KindredError(f"{command[0]} printed more than {_MOST} bytes and was stopped: {_OTHER}", status, command)
    if status != 0:
        raise KindredError(_unfetched(_reason(list(said), status)), status, command) from (served and served.error)
    if not closed:
        raise KindredError(f"{command[0]} has ended, but a process that it started keeps its output open: {_OTHER}",
                           status, command)
    return _document(b"".join(out), status, command)


# What to do if the program does not behave as kindred does.
_OTHER = "check that kindred_ml.find() is kindred, in the version of this package"


def _document(text, status, command):
    """The JSON object that a command printed; an empty one if it printed nothing."""
    try:
        document = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as e:
        raise KindredError(f"{command[0]} printed something that is not JSON: {e}: {_OTHER}", status, command) from e
    if not isinstance(document, dict):
        raise KindredError(f"{command[0]} printed JSON that is not an object: {_OTHER}", status, command)
    return document


@contextlib.contextmanager
def understood(command):
    """Turn any error in reading a command's document or file into a KindredError."""
    try:
        yield
    except (KindredError, MemoryError):
        raise
    except Exception as e:  # a file or a document of another program may do anything
        what = f"{e} is missing" if isinstance(e, KeyError) else str(e) or type(e).__name__
        raise KindredError(f"the result of kindred {command} cannot be read: {what}: {_OTHER}") from e


def _printed(process, out, served):
    """Keep what a command prints, after the requests to a loss or a miner. Stop the command if it prints too much."""
    if served is not None:
        try:
            out.append(served.serve(process.stdin, process.stdout))
        finally:
            _feed(process.stdin, b"")
    size = 0
    for block in iter(lambda: process.stdout.read1(_LINE), b""):
        out.append(block)
        size += len(block)
        if size > _MOST:
            process.kill()
            return


def _apart():
    """Arguments of Popen that keep a Ctrl-C in the terminal from the command.

    The command gets one from here instead: two would stop it before it has cleaned up.
    """
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _wait(process):
    """Wait for the end of a process; an interrupt ends it and is raised again."""
    try:
        return process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.CTRL_BREAK_EVENT if sys.platform == "win32" else signal.SIGINT)
        process.wait()
        raise


def _closing(stream, read, *arguments):
    """Call read, and close the stream that it reads."""
    with stream:
        read(*arguments)


def _lines(stream, show, said):
    """Show the lines of a stream and keep them."""
    for line in iter(lambda: stream.readline(_LINE), b""):
        line = line.decode("utf-8", "replace").rstrip("\r\n")
        said.append(line)
        try:
            show(line)
        except Exception as e:  # the command must not hang on a pipe that nobody reads
            show = display(False)
            print(f"kindred_ml: progress is no longer shown: {e!r}", file=sys.stderr)


def _feed(stream, content):
    """Write content to a stream that may be closed before it is read."""
    try:
        stream.write(content)
    except OSError:
        pass
    try:
        stream.close()
    except OSError:
        pass


def _reason(said, status):
    """Return the error among the lines that a command printed: from the last line that begins like an error."""
    for k in range(len(said) - 1, -1, -1):
        if said[k].startswith("kindred: "):
            return "\n".join([said[k][len("kindred: "):], *said[k + 1:]])
    if status < 0:
        return f"the command was ended by signal {-status}"
    return "\n".join(said[-10:])[-2000:] or f"the command ended with status {status}"


# What the command prints about a pretrained network that is missing.
_UNFETCHED = ("were not fetched", "is not in the weights folder")


def _unfetched(text):
    """Return a reason. If a pretrained network is missing, it names this package's way out, not the command's flags."""
    if not any(words in text for words in _UNFETCHED):
        return text
    kept = "\n".join(line for line in text.split("\n") if not line.startswith("--"))
    return (kept.replace("neither --run nor --network says", "neither run nor network says") +
            "\nnetwork='model.onnx' uses a file, run=FOLDER a network that was trained here, and "
            "kindred_ml.run('weights', 'get', NAME) fetches one")


def flags(options):
    """Return the flags of a command for options.

    Parameters
    ----------
    options : dict
        Values by name: ``{"in": "photos", "allow_outside": True}`` is ``--in=photos --allow-outside``.
        None and False are left out, a list or tuple is the flag several times.

    Returns
    -------
    list of str
    """
    out = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(flag)
        elif isinstance(value, (list, tuple)):
            out.extend(f"{flag}={os.fspath(v) if isinstance(v, os.PathLike) else v}" for v in value)
        else:
            out.append(f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    return out
