"""docs/python.md is run, and says what comes out."""

import doctest
import re

import pytest

from conftest import HERE

PAGE = HERE.parents[1] / "docs" / "python.md"
NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Near(doctest.OutputChecker):
    """Takes whole numbers as they are, and others if they are within 0.1."""

    def check_output(self, want, got, optionflags):
        if NUMBER.sub("0", " ".join(want.split())) != NUMBER.sub("0", " ".join(got.split())):
            return False
        return all(a == b if "." not in a else abs(float(a) - float(b)) <= 0.1
                   for a, b in zip(NUMBER.findall(want), NUMBER.findall(got)))


def test_numbers_are_compared():
    same = Near().check_output
    assert same("{'a': 0.95}\n", "{'a':  0.9123}\n", 0) and same("1 0.5\n", "1 0.45\n", 0)
    assert not same("0.95\n", "0.8\n", 0) and not same("61\n", "60\n", 0) and not same("0.9 a\n", "0.9 b\n", 0)


def test_the_page(kindred, tmp_path, monkeypatch):
    if not PAGE.is_file():
        pytest.skip("the page is not beside the package")
    for name in ["sklearn", "PIL", "pandas"]:
        pytest.importorskip(name, reason=f"the page uses {name}")
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(PAGE.read_text(encoding="utf-8"), {}, PAGE.name, str(PAGE), 0)
    assert len(test.examples) > 20
    said = []
    doctest.DocTestRunner(Near(), verbose=False).run(test, out=said.append)
    assert not said, "".join(said)
