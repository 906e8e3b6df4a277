"""The binary, its progress, its errors, and interrupts."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import kindred_ml
from kindred_ml.command import flags, run
from kindred_ml.progress import Bar, OneLine

PACKAGE = str(Path(kindred_ml.__file__).resolve().parents[1])
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def test_flags():
    assert flags({"in": "a b", "allow_outside": True, "force": False, "run": None, "set": ["a=1", "b=2"],
                  "out": Path("x"), "neighbours": 5}) == [
        "--in=a b", "--allow-outside", "--set=a=1", "--set=b=2", "--out=x", "--neighbours=5"]


def test_an_error_has_the_words_and_the_status(kindred, photos):
    with pytest.raises(kindred_ml.KindredError, match="nowhere: no such file or folder: give the folder of a run") as caught:
        kindred_ml.search(photos / "kind0/0.png", run="nowhere", in_=photos, progress=False)
    assert caught.value.status == 1
    assert caught.value.command[:3] == [kindred, "--json", "search"]
    assert not str(caught.value).startswith("kindred:")
    with pytest.raises(kindred_ml.KindredError, match="unknown flag: --never-heard-of") as caught:
        kindred_ml.search(photos / "kind0/0.png", run="nowhere", in_=photos, progress=False, never_heard_of=1)
    assert caught.value.status == 2


def test_which_binary(monkeypatch, tmp_path):
    monkeypatch.setenv("KINDRED_BIN", str(tmp_path / "none"))
    with pytest.raises(kindred_ml.KindredError, match="KINDRED_BIN is .*none"):
        kindred_ml.find()
    monkeypatch.delenv("KINDRED_BIN")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("kindred_ml.binary.__file__", str(tmp_path / "package" / "binary.py"))
    with pytest.raises(kindred_ml.KindredError, match="no kindred binary was found.*KINDRED_BIN"):
        kindred_ml.find()
    name = "kindred.exe" if sys.platform == "win32" else "kindred"
    for folder in [tmp_path, tmp_path / "package" / "bin"]:  # on the PATH, then in the wheel
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
        (folder / name).chmod(0o755)
        assert kindred_ml.find() == str(folder / name)


def test_the_binary_of_a_checkout(monkeypatch, tmp_path):
    monkeypatch.delenv("KINDRED_BIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("kindred_ml.binary.__file__", str(tmp_path / "python" / "kindred_ml" / "binary.py"))
    name = "kindred.exe" if sys.platform == "win32" else "kindred"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / name).write_text("")
    with pytest.raises(kindred_ml.KindredError, match="no kindred binary was found.*make build"):
        kindred_ml.find()  # a folder bin elsewhere is not one of a checkout
    (tmp_path / "cmd" / "kindred").mkdir(parents=True)
    assert kindred_ml.find() == str((tmp_path / "bin" / name).resolve())


def test_what_is_no_program_is_an_error(monkeypatch, tmp_path):
    (tmp_path / "kindred").write_text("no program")
    (tmp_path / "kindred").chmod(0o755)
    monkeypatch.setenv("KINDRED_BIN", str(tmp_path / "kindred"))
    with pytest.raises(kindred_ml.KindredError, match="cannot be started"):
        run("data", "list")


def test_progress_is_shown(kindred, trained, photos, capsys):
    kindred_ml.search(photos / "kind0/0.png", run=trained.run_, in_=photos, progress="lines")
    assert "embedding 32 photos" in capsys.readouterr().err
    kindred_ml.search(photos / "kind0/0.png", run=trained.run_, in_=photos, progress=False)
    assert capsys.readouterr().err == ""
    lines = []
    kindred_ml.search(photos / "kind0/0.png", run=trained.run_, in_=photos, progress=lines.append)
    assert any("32 photos" in line for line in lines)
    with pytest.raises(ValueError, match="progress is 'loud'"):
        kindred_ml.search(photos / "kind0/0.png", run=trained.run_, in_=photos, progress="loud")


def test_a_progress_that_fails_stops_nothing(kindred, trained, photos, capsys):
    def fails(line):
        raise RuntimeError("no")

    assert len(kindred_ml.search(photos / "kind0/0.png", run=trained.run_, in_=photos, progress=fails, as_frame=False))
    assert "progress is no longer shown: RuntimeError('no')" in capsys.readouterr().err


def test_lines_that_begin_alike_take_each_others_place(capsys):
    show = OneLine()
    for line in ["data  32", "epoch 1/3 long", "epoch 2/3", "note: x"]:
        show(line)
    show.close()
    assert capsys.readouterr().err == "data  32\nepoch 1/3 long\repoch 2/3     \nnote: x\n"


class Shown:
    """What a notebook would show in one place."""

    def __init__(self, text):
        self.texts = [text]

    def update(self, text):
        self.texts.append(text)


def test_lines_that_count_are_a_bar(capsys):
    bars = []

    def put(text):
        bars.append(Shown(text))
        return bars[-1]

    show = Bar(put)
    for line in ["data  32", "epoch 1/2  loss <3>", "epoch 2/2", "note: x", "epoch 3/3", "0/0"]:
        show(line)
    show.close()
    assert [bar.texts for bar in bars] == [
        ['<progress value="1" max="2"></progress> epoch 1/2 loss &lt;3&gt;',
         '<progress value="2" max="2"></progress> epoch 2/2'],
        ['<progress value="3" max="3"></progress> epoch 3/3']]
    assert capsys.readouterr().err == "data  32\nnote: x\n0/0\n"


def children(pid):
    """The processes whose parent is pid."""
    out = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            out.append(int(stat.parent.name))
    return out


@posix
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_ctrl_c_ends_the_command(kindred, paths, labels, tmp_path):
    script = tmp_path / "fit.py"
    script.write_text(textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {PACKAGE!r})
        from kindred_ml import Embedder
        try:
            Embedder(set={{"train.epochs": 100000, "data.size": 16, "network.pretrained": "none"}},
                     folder={str(tmp_path / "kept")!r}).fit({paths!r}, {labels!r})
        except KeyboardInterrupt:
            print("interrupted")
    """))
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        for line in process.stderr:
            if line.startswith("epoch 2/"):
                break
        else:
            pytest.fail("it has not begun to train")
        [child] = children(process.pid)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the whole group gets it
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    assert out == "interrupted\n"
    assert process.returncode == 0
    assert not os.path.exists(f"/proc/{child}")
    # The command has ended in order: it says how to go on, and left what that takes.
    assert "train --resume" in err
    assert (tmp_path / "kept" / "run" / "checkpoint").exists()


# Programs that are not kindred, as scripts, with what their error says.
OTHERS = {
    "prints a text": ("echo hello", "printed something that is not JSON"),
    "prints half": ("printf '{\"metrics\": '", "printed something that is not JSON"),
    "prints bytes": ("printf '\\377\\376{}'", "printed something that is not JSON"),
    "prints a list": ("echo '[1]'", "printed JSON that is not an object"),
    "prints null": ("echo null", "printed JSON that is not an object"),
    "prints a number": ("echo 7", "printed JSON that is not an object"),
    "prints what is deep": ("head -c 200000 /dev/zero | tr '\\0' '['", "printed something that is not JSON"),
    "prints without end": ("exec yes", "printed more than 1000000 bytes and was stopped"),
    "prints one line without end": ("exec cat /dev/zero", "printed more than 1000000 bytes and was stopped"),
    "fails and prints": ("echo '{}'; echo 'kindred: no such thing' >&2; exit 3", "^no such thing$"),
    "says much": ("yes | head -n 100000 >&2; exit 1", "y"),
    "says one long line": ("head -c 50000000 /dev/zero >&2; exit 1", ""),
    "says bytes": ("printf '\\377\\n' >&2; exit 1", "\ufffd"),
    "is killed": ("kill -9 $$", "^the command was ended by signal 9$"),
    "leaves a process": ("sleep 20 & echo '{}'", "keeps its output open"),
}


def stand_in(tmp_path, monkeypatch, script):
    program = tmp_path / "kindred"
    program.write_text("#!/bin/sh\n" + script + "\n")
    program.chmod(0o755)
    monkeypatch.setenv("KINDRED_BIN", str(program))


@posix
@pytest.mark.parametrize("name", OTHERS)
def test_a_program_that_is_not_kindred(name, monkeypatch, tmp_path):
    script, words = OTHERS[name]
    stand_in(tmp_path, monkeypatch, script)
    monkeypatch.setattr("kindred_ml.command._MOST", 1000000)
    monkeypatch.setattr("kindred_ml.command._CLOSED", 1)
    with pytest.raises(kindred_ml.KindredError, match=words) as caught:
        run("data", "list", progress=False)
    text = str(caught.value)
    assert len(text) < 2500 and text.strip()
    assert caught.value.status is not None and caught.value.command[-2:] == ["data", "list"]
    if caught.value.status == 0 or "ended:" in text:
        assert "kindred_ml.find() is kindred, in the version" in text


X, Y = [[0.0, 1.0], [1.0, 0.0]] * 3, ["a", "b"] * 3


@posix
@pytest.mark.parametrize("document", [{}, {"metrics": [["x"]]}, {"metrics": 7}, {"queries": [{}]}, {"queries": 1},
                                      {"suspects": [7], "classes": {"a": 1}}, {"suspects": None, "page": 5},
                                      {"removed": "x", "items": [1]}, {"removed": None, "items": None}])
def test_documents_of_another_shape(document, photos, monkeypatch, tmp_path):
    stand_in(tmp_path, monkeypatch, f"echo '{json.dumps(document)}'")
    index, image = kindred_ml.Index(tmp_path), photos / "kind0/0.png"
    calls = {
        "evaluate": lambda: kindred_ml.evaluate(X, Y),
        "clean": lambda: kindred_ml.clean(X, Y),
        "discover": lambda: kindred_ml.discover(X, Y),
        "report": lambda: kindred_ml.report(tmp_path),
        "draw_map": lambda: kindred_ml.draw_map(X, Y),
        "search": lambda: kindred_ml.search(image, in_=photos),
        "identify": lambda: kindred_ml.identify(image, index=tmp_path),
        "embed": lambda: kindred_ml.embed(image, run=tmp_path),
        "fit": lambda: kindred_ml.Embedder(folder=tmp_path / "fit").fit([image] * 4, ["a", "b"] * 2),
        "Index.search": lambda: index.search(ids="a"),
        "Index.remove": lambda: index.remove("a"),
        "len": lambda: len(index),
    }
    for name, call in calls.items():
        with pytest.raises(kindred_ml.KindredError, match="cannot be read: .*of this package") as caught:
            call()
            pytest.fail(name)
        assert caught.value.__cause__, name


def test_the_module_is_the_binary(kindred):
    done = subprocess.run([sys.executable, "-m", "kindred_ml", "--version"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": PACKAGE})
    assert done.returncode == 0 and done.stdout.startswith("kindred ")
    done = subprocess.run([sys.executable, "-m", "kindred_ml", "search", "--jo"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": PACKAGE})
    assert done.returncode == 2 and "unknown flag" in done.stderr


def test_errors_survive_a_pickle():
    import pickle
    e = pickle.loads(pickle.dumps(kindred_ml.KindredError("text", 1, ["kindred"])))
    assert (e.text, e.status, e.command) == ("text", 1, ["kindred"])
    e = pickle.loads(pickle.dumps(kindred_ml.ServerError(404, "not-found", "no item", "look")))
    assert (str(e), e.code, e.status) == ("no item (404 not-found): look", "not-found", 404)
