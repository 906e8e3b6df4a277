"""The wheels: names, tags, contents, and one that is installed."""

import base64
import csv
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import zipfile

import pytest

from conftest import HERE

sys.path.insert(0, str(HERE.parent))
import build_wheels  # noqa: E402


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def program(platform="linux/amd64", version="v1.2.3", path=build_wheels.PROGRAM, cgo="0", shift=0, flags=2):
    """A stand-in for a program of Go: what the Go tool writes about it, among other bytes."""
    goos, _, arch = platform.partition("/")
    text = (f"path\t{path}\nmod\tgithub.com/kindred-ml/kindred\t{version}\t\ndep\tx\tv9.9.9\th1:\n"
            f"build\tCGO_ENABLED={cgo}\nbuild\tGOARCH={arch}\nbuild\tGOOS={goos}\n").encode()
    text = b"<" * 16 + text + b">" * 16
    head = b"\xff Go buildinf:".ljust(15, b"\x08") + bytes([flags]) + bytes(16)
    # The magic stands in programs that read it too, at any place.
    return b"\x7f\xff Go buildinf: none".ljust(64 + shift, b"-") + head + varint(8) + b"go1.26.8" + \
        varint(len(text)) + text + bytes(range(256)) * 20


@pytest.mark.parametrize("platform, tags", build_wheels.TAGS.items())
def test_a_wheel_for_every_system(tmp_path, platform, tags):
    (tmp_path / "in").write_bytes(program(platform))
    binary = build_wheels.read_binary(tmp_path / "in")
    name = build_wheels.binary_wheel(tmp_path / "dist", binary)
    assert name == f"kindred_ml-1.2.3-py3-none-{'.'.join(tags)}.whl"
    assert os.listdir(tmp_path / "dist") == [name]
    with zipfile.ZipFile(tmp_path / "dist" / name) as wheel:
        assert wheel.testzip() is None
        inside = "kindred_ml/bin/kindred" + (".exe" if platform.startswith("windows") else "")
        assert wheel.read(inside) == program(platform)
        assert wheel.getinfo(inside).external_attr >> 16 == 0o100755
        assert wheel.getinfo("kindred_ml/__init__.py").external_attr >> 16 == 0o100644
        info = "kindred_ml-1.2.3.dist-info/"
        assert "kindred = kindred_ml.__main__:main" in wheel.read(info + "entry_points.txt").decode()
        assert "Apache License" in wheel.read(info + "licenses/LICENSE").decode()
        metadata = wheel.read(info + "METADATA").decode()
        assert "\nName: kindred-ml\nVersion: 1.2.3\n" in metadata and "\nRequires-Dist: numpy\n" in metadata
        lines = wheel.read(info + "WHEEL").decode().splitlines()
        assert [line for line in lines if line.startswith("Tag: ")] == [f"Tag: py3-none-{tag}" for tag in tags]
        assert "Root-Is-Purelib: false" in lines
        rows = list(csv.reader(io.StringIO(wheel.read(info + "RECORD").decode())))
        assert [row[0] for row in rows] == wheel.namelist()
        for path, digest, size in rows[:-1]:
            content = wheel.read(path)
            want = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            assert (digest, int(size)) == (f"sha256={want}", len(content)), path
        assert rows[-1] == [info + "RECORD", "", ""]
        assert {n for n in wheel.namelist() if n.endswith(".py")} == {
            f"kindred_ml/{p.name}" for p in (HERE.parent / "kindred_ml").glob("*.py")}


def test_pip_takes_the_names():
    tags = pytest.importorskip("pip._vendor.packaging.tags", reason="needs pip")
    from pip._vendor.packaging.utils import parse_wheel_filename
    known = set(tags.cpython_tags((3, 11), platforms=build_wheels.TAGS["linux/arm64"])) | set(
        tags.compatible_tags((3, 11), platforms=build_wheels.TAGS["linux/arm64"]))
    for platform, names in build_wheels.TAGS.items():
        _, version, _, found = parse_wheel_filename(f"kindred_ml-1.2.3-py3-none-{'.'.join(names)}.whl")
        assert str(version) == "1.2.3" and len(found) == len(names)
        assert bool(found & known) == (platform == "linux/arm64")
    if sys.platform == "linux" and os.uname().machine == "x86_64":
        here = set(tags.sys_tags())
        assert here & set(tags.parse_tag("py3-none-" + ".".join(build_wheels.TAGS["linux/amd64"])))


@pytest.mark.parametrize("content, why", [
    (b"no program", "no program of Go"), (program(flags=0), "before 1.18"), (program()[:140], "no program of Go"),
    (program(path="example.com/other"), "a build of example.com/other"), (program("plan9/386"), "built for plan9/386"),
    (program(cgo="1"), "CGO_ENABLED=0"), (program(version="v1.2.3-what"), "no counterpart"), (b"", "no program of Go"),
    (program(shift=1), "no program of Go")])
def test_what_no_wheel_is_made_of(tmp_path, content, why):
    (tmp_path / "kindred").write_bytes(content)
    with pytest.raises(build_wheels.Unfit, match=f"{tmp_path}/kindred: .*{why}"):
        build_wheels.read_binary(tmp_path / "kindred")
    done = subprocess.run([sys.executable, build_wheels.__file__, tmp_path / "kindred", "--out", tmp_path / "out"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("build_wheels: ") and not (tmp_path / "out").exists()


def test_archives_of_a_release(tmp_path):
    with tarfile.open(tmp_path / "kindred-v1.2.3-linux-arm64.tar.gz", "w:gz") as archive:
        for name, content in [("k/share/man/kindred.1", b"man"), ("k/kindred", program("linux/arm64"))]:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    with zipfile.ZipFile(tmp_path / "kindred-v1.2.3-windows-amd64.zip", "w") as archive:
        archive.writestr("k/kindred.exe", program("windows/amd64"))
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    assert build_wheels.read_binary(tmp_path / "kindred-v1.2.3-linux-arm64.tar.gz").platform == "linux/arm64"
    assert build_wheels.read_binary(tmp_path / "kindred-v1.2.3-windows-amd64.zip").platform == "windows/amd64"
    with pytest.raises(build_wheels.Unfit, match="holds no kindred"):
        build_wheels.read_binary(tmp_path / "empty.zip")


@pytest.mark.parametrize("go, python", [
    ("(devel)", "0.0.0.dev0"), ("v1.2.3", "1.2.3"), ("v1.2.3+dirty", "1.2.3+dirty"), ("v1.2.3-rc.1", "1.2.3rc1"),
    ("v1.2.3-beta2", "1.2.3b2"), ("v0.0.0-20261123152703-abcdef012345", "0.0.0.dev20261123152703+gabcdef012345"),
    ("v1.2.4-0.20261123152703-abcdef012345+dirty", "1.2.4.dev20261123152703+gabcdef012345.dirty"),
    ("v1.2.3-rc.1.0.20261123152703-abcdef012345", "1.2.3rc1.post20261123152703+gabcdef012345")])
def test_versions(go, python):
    assert build_wheels.python_version(go) == python
    packaging = pytest.importorskip("pip._vendor.packaging.version", reason="needs pip")
    assert str(packaging.Version(python)) == python  # as PEP 440 writes it
    if "2026" in go:  # between the versions before and after
        neighbours = {"0.0.0": ("0", "0.0.0"), "1.2.4": ("1.2.3", "1.2.4"), "1.2.3": ("1.2.3rc1", "1.2.3")}
        before, after = neighbours[python[:5]]
        assert packaging.Version(python) < packaging.Version(after)
        assert before == "0" or packaging.Version(before) < packaging.Version(python)


def test_the_same_files_give_the_same_bytes(tmp_path, monkeypatch):
    binary = build_wheels.described(program())
    for folder, stamp in [("a", "1700000000"), ("b", "1700000000"), ("c", "0")]:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", stamp)
        wheel = build_wheels.binary_wheel(tmp_path / folder, binary)
        sdist = build_wheels.sdist(tmp_path / folder, "1.2.3")
    for name in [wheel, sdist]:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        assert (tmp_path / "a" / name).read_bytes() != (tmp_path / "c" / name).read_bytes()


def test_the_sdist_builds_a_wheel(tmp_path):
    """As pip does: unpacked, the backend makes a wheel of Python alone, or with KINDRED_BIN's binary."""
    name = build_wheels.sdist(tmp_path, "1.2.3")
    with tarfile.open(tmp_path / name) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / name[:-len(".tar.gz")]
    assert {"PKG-INFO", "LICENSE", "README.md", "pyproject.toml", "build_wheels.py"} < set(os.listdir(folder))
    (tmp_path / "kindred").write_bytes(program(version="v1.2.4"))
    script = "import sys; sys.path.insert(0, '.'); import build_wheels; print(build_wheels.build_wheel(sys.argv[1]))"
    for binary, want in [("", "kindred_ml-1.2.3-py3-none-any.whl"),
                         (str(tmp_path / "kindred"), "kindred_ml-1.2.4-py3-none-manylinux_2_17_x86_64.")]:
        out = subprocess.run([sys.executable, "-c", script, tmp_path / "out"], cwd=folder, check=True, text=True,
                             capture_output=True, env={**os.environ, "KINDRED_BIN": binary}).stdout.strip()
        assert out.startswith(want)
        with zipfile.ZipFile(tmp_path / "out" / out) as wheel:
            names = wheel.namelist()
        assert ("kindred_ml/bin/kindred" in names) == bool(binary)
        # Without a binary a command kindred could find itself alone.
        assert any(n.endswith("entry_points.txt") for n in names) == bool(binary)


@pytest.fixture(scope="module")
def installed(kindred, tmp_path_factory):
    """The Python of a fresh environment in which a wheel with the real binary was installed offline."""
    pytest.importorskip("pip", reason="needs pip")
    pytest.importorskip("venv", reason="needs venv")
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, build_wheels.__file__, kindred, "--out", folder / "dist", "--level", "1"],
                   check=True, stdout=subprocess.DEVNULL)
    [wheel] = (folder / "dist").glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", folder / "venv"],
                   check=True)
    python = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-cache-dir", "--no-compile", wheel],
                   check=True, env=outside())
    return python


def outside(**variables):
    """An environment in which neither the checkout nor a binary can be found."""
    kept = {k: v for k, v in os.environ.items() if k not in ("KINDRED_BIN", "PYTHONPATH")}
    return {**kept, "PATH": os.defpath, **variables}


def test_the_installed_wheel(kindred, installed, photos, tmp_path):
    version = subprocess.run([kindred, "--version"], check=True, capture_output=True, text=True).stdout
    command = installed.with_name("kindred.exe" if sys.platform == "win32" else "kindred")
    for how in [[command], [installed, "-m", "kindred_ml"]]:
        done = subprocess.run([*how, "--version"], check=True, capture_output=True, text=True, env=outside(),
                              cwd=tmp_path)
        assert done.stdout == version
    done = subprocess.run([command, "search"], capture_output=True, text=True, env=outside(), cwd=tmp_path)
    assert done.returncode == 2 and "kindred: " in done.stderr
    script = ("import kindred_ml, os\n"
              "print(os.path.dirname(kindred_ml.find()) == os.path.join(os.path.dirname(kindred_ml.__file__), 'bin'))\n"
              "print(kindred_ml.__version__)\n"
              "print(kindred_ml.run('data', 'info', os.environ['PHOTOS'], progress=False)['samples'])\n")
    done = subprocess.run([installed, "-c", script], check=True, capture_output=True, text=True, cwd=tmp_path,
                          env=outside(PHOTOS=str(photos)))
    assert done.stdout.split() == ["True", build_wheels.read_binary(kindred).version, "32"]
