"""Wheels of kindred_ml that hold the kindred binary, and the sdist.

As a program::

    python3 build_wheels.py [--out DIR] [BINARY ...]

writes a wheel for each BINARY, and the sdist. A BINARY is a kindred that was built
for any system, or an archive of ``make release`` that holds one. What it was built for,
and its version, are read from the file itself, as ``go version -m`` does.

As the build backend that pyproject.toml names (PEP 517 and 660) it takes the binary that
$KINDRED_BIN names, else that of ``make build`` in the checkout. Without either the wheel
holds Python alone.

It needs the standard library only. The same files give the same bytes.
"""

import argparse
import base64
import gzip
import hashlib
import io
import os
import re
import stat
import sys
import tarfile
import time
import zipfile
from collections import namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = "kindred_ml"
PROGRAM = "github.com/kindred-ml/kindred/cmd/kindred"

# The tags of each system. The binaries are static, so that on Linux every C library will
# do: these are the oldest tags of both. Go 1.26 wants macOS 12.
TAGS = {
    "linux/amd64": ["manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"],
    "linux/arm64": ["manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"],
    "darwin/amd64": ["macosx_12_0_x86_64"],
    "darwin/arm64": ["macosx_12_0_arm64"],
    "windows/amd64": ["win_amd64"],
    "windows/arm64": ["win_arm64"],
}

METADATA = """Metadata-Version: 2.1
Name: kindred-ml
Version: {version}
Summary: Metric learning: train embeddings, search, measure, decide. Holds the kindred binary.
Home-page: https://github.com/kindred-ml/kindred
License: Apache-2.0
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Requires-Python: >=3.9
Requires-Dist: numpy
Provides-Extra: pandas
Requires-Dist: pandas ; extra == 'pandas'
Provides-Extra: sklearn
Requires-Dist: scikit-learn ; extra == 'sklearn'
Provides-Extra: pictures
Requires-Dist: Pillow ; extra == 'pictures'
Description-Content-Type: text/markdown

"""

# Binary is a kindred that was built: its content, "os/arch", and version.
Binary = namedtuple("Binary", "content platform version")


class Unfit(Exception):
    """A file that no wheel can be made of."""


def read_binary(path):
    """The kindred in a file, or in an archive of make release."""
    path = Path(path)
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            inside = [m for m in archive.getmembers() if m.isfile() and m.name.split("/")[-1] == "kindred"]
            content = archive.extractfile(inside[0]).read() if inside else None
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            inside = [n for n in archive.namelist() if n.split("/")[-1] == "kindred.exe"]
            content = archive.read(inside[0]) if inside else None
    else:
        content = path.read_bytes()
    if content is None:
        raise Unfit(f"{path}: the archive holds no kindred")
    try:
        return described(content)
    except Unfit as e:
        raise Unfit(f"{path}: {e}") from None


def described(content):
    """The Binary with this content, by what the Go tool wrote into it."""
    settings = {}
    version = program = None
    for line in build_info(content).splitlines():
        kind, _, rest = line.partition("\t")
        if kind == "path":
            program = rest
        elif kind == "mod":
            version = rest.split("\t")[1]
        elif kind == "build":
            key, _, value = rest.partition("=")
            settings[key] = value
    if program != PROGRAM:
        raise Unfit(f"it is a build of {program}, not of {PROGRAM}")
    platform = f"{settings.get('GOOS')}/{settings.get('GOARCH')}"
    if platform not in TAGS:
        raise Unfit(f"it was built for {platform}; there are wheels for {', '.join(TAGS)}")
    if platform.startswith("linux/") and settings.get("CGO_ENABLED") != "0":
        raise Unfit("it may need a C library, which the wheel's tag denies: build it with CGO_ENABLED=0")
    return Binary(content, platform, python_version(version))


def build_info(content):
    """The text of debug.BuildInfo in a Go program.

    It is stored behind a magic number at a multiple of 16: 16 bytes later come the Go
    version and the text, each with its length before it as a varint. The text stands
    between two marks of 16 bytes.
    """
    magic = b"\xff Go buildinf:"
    at = content.find(magic)
    while at >= 0:
        if at % 16 == 0 and len(content) > at + 32 and content[at + 15] & 2:
            try:
                _, rest = counted(content, at + 32)
                text, _ = counted(content, rest)
                return text[16:-16].decode()
            except (IndexError, UnicodeDecodeError):
                pass
        at = content.find(magic, at + 1)
    raise Unfit("it is no program of Go, or was built by a Go before 1.18")


def counted(content, at):
    """The bytes at a position with their length before them, and the position after."""
    length = shift = 0
    while True:
        byte = content[at]
        at += 1
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    if at + length > len(content):
        raise IndexError(at)
    return content[at : at + length], at + length


def python_version(version):
    """A version of Go's as one of Python's (PEP 440).

    v1.2.3 is 1.2.3, v1.2.3-rc.1 is 1.2.3rc1. A build between two versions is a
    development release with its time, and its commit as the local part.
    """
    if version == "(devel)":
        return "0.0.0.dev0"
    core, _, build = version.partition("+")
    local = "dirty" if "dirty" in build.split(".") else ""
    if m := re.fullmatch(r"v(\d+\.\d+\.\d+)-(?:0\.)?(\d{14})-([0-9a-f]{12})", core):
        return f"{m[1]}.dev{m[2]}+g{m[3]}" + (local and "." + local)
    if m := re.fullmatch(r"v(\d+\.\d+\.\d+)(?:-(alpha|beta|rc)\.?(\d+))?(?:\.0\.(\d{14})-([0-9a-f]{12}))?", core):
        text = m[1]
        if m[2]:
            text += {"alpha": "a", "beta": "b", "rc": "rc"}[m[2]] + m[3]
        if m[4]:
            text += f".post{m[4]}"
            local = f"g{m[5]}" + (local and "." + local)
        return text + (local and "+" + local)
    raise Unfit(f"its version {version} has no counterpart in Python: build it at a tag such as v1.2.3")


def stamp():
    """The time stamp of all files: $SOURCE_DATE_EPOCH, else the earliest that zip has."""
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800)


def beside(name):
    """A file of the repository's root, which the sdist has beside this one."""
    for folder in (HERE, HERE.parent):
        if (folder / name).is_file():
            return (folder / name).read_bytes()
    raise Unfit(f"{HERE} and the folder above have no {name}")


def metadata(version):
    return METADATA.format(version=version).encode() + (HERE / "README.md").read_bytes()


def modules():
    """The package's files, with their names in the wheel."""
    return {f"{NAME}/{p.name}": p.read_bytes() for p in sorted((HERE / NAME).glob("*.py"))}


def wheel(out, version, tags, files, program=False, level=9):
    """Write a wheel of files and return its name.

    program says that it has the binary, and so the command kindred. Without it there is
    no such command: it could only look for another one of its name.
    """
    info = f"{NAME}-{version}.dist-info"
    files = dict(files)
    files[f"{info}/licenses/LICENSE"] = beside("LICENSE")
    files[f"{info}/METADATA"] = metadata(version)
    files[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: kindred build_wheels\nRoot-Is-Purelib: "
        + ("false" if program else "true") + "\n" + "".join(f"Tag: py3-none-{tag}\n" for tag in tags)).encode()
    if program:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\nkindred = {NAME}.__main__:main\n".encode()
    record = "".join(f"{name},sha256={digest(content)},{len(content)}\n" for name, content in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    name = f"{NAME}-{version}-py3-none-{'.'.join(tags)}.whl"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, time.gmtime(stamp())[:6])
            entry.create_system = 3  # Unix, for the permissions
            mode = 0o755 if path.startswith(f"{NAME}/bin/") else 0o644
            entry.external_attr = (stat.S_IFREG | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=level)
    place(Path(out) / name, buffer.getvalue())
    return name


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def place(path, content):
    """Write a file under another name and give it its own when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def binary_wheel(out, binary, level=9):
    """Write the wheel that holds a Binary and return its name."""
    name = "kindred.exe" if binary.platform.startswith("windows/") else "kindred"
    files = modules()
    files[f"{NAME}/bin/{name}"] = binary.content
    return wheel(out, binary.version, TAGS[binary.platform], files, program=True, level=level)


def sdist(out, version):
    """Write the source distribution and return its name."""
    root = f"{NAME}-{version}"
    files = {"PKG-INFO": metadata(version), "LICENSE": beside("LICENSE")}
    for name in ["README.md", "build_wheels.py", "pyproject.toml"]:
        files[name] = (HERE / name).read_bytes()
    files.update(modules())
    tests = HERE / "tests"
    files.update({f"tests/{p.name}": p.read_bytes() for p in sorted(tests.glob("*.py"))})
    buffer = io.BytesIO()
    with gzip.GzipFile("", "wb", mtime=stamp(), fileobj=buffer) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path, content in sorted(files.items()):
                entry = tarfile.TarInfo(f"{root}/{path}")
                entry.size, entry.mtime, entry.mode = len(content), stamp(), 0o644
                archive.addfile(entry, io.BytesIO(content))
    place(Path(out) / f"{root}.tar.gz", buffer.getvalue())
    return f"{root}.tar.gz"


# The hooks of PEP 517 and 660.


def own_binary():
    """The binary for a wheel that pip builds, None if there is none."""
    path = os.environ.get("KINDRED_BIN")
    if path:
        return read_binary(path)
    built = HERE.parent / "bin" / ("kindred.exe" if sys.platform == "win32" else "kindred")
    if (HERE.parent / "cmd" / "kindred").is_dir() and built.is_file():
        return read_binary(built)
    return None


def own_version(binary):
    """The version of the binary, else the sdist's, else that of an unknown build."""
    if binary:
        return binary.version
    info = HERE / "PKG-INFO"
    if info.is_file():
        return re.search(r"(?m)^Version: (\S+)$", info.read_text(encoding="utf-8"))[1]
    return "0.0.0.dev0"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    binary = own_binary()
    if binary:
        return binary_wheel(wheel_directory, binary, level=1)
    return wheel(wheel_directory, own_version(None), ["any"], modules())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return wheel(wheel_directory, own_version(own_binary()), ["any"], {f"__editable__{NAME}.pth": f"{HERE}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    return sdist(sdist_directory, own_version(own_binary()))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary", nargs="+", help="a kindred that was built, or an archive of make release")
    parser.add_argument("--out", default="dist", help="folder for the wheels and the sdist (default %(default)s)")
    parser.add_argument("--level", type=int, choices=range(10), default=9, metavar="0-9",
                        help="how hard to compress (default %(default)s)")
    options = parser.parse_args(arguments)
    versions = []
    try:
        for path in options.binary:
            binary = read_binary(path)
            versions.append(binary.version)
            print(Path(options.out) / binary_wheel(options.out, binary, options.level))
        for version in sorted(set(versions)):
            print(Path(options.out) / sdist(options.out, version))
    except (Unfit, OSError, tarfile.TarError, zipfile.BadZipFile) as e:
        sys.exit(f"build_wheels: {e}")


if __name__ == "__main__":
    main()
