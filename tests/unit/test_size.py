"""What ``scripts/size.py`` counts, and what it finds too long."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "size.py"

CPLUSPLUS = """\
/* A brace in a comment { and one in a text. */
#define ONE(name) inline int name() { return 1; }
ONE(first)
ONE(second)

static const int table[] = {1, 2};
const char *text = "}";

template <class T> inline T least(T a, T b)
{
    if (a < b) {
        return a;
    }
    return b;
}

extern "C" {
struct pair : base { int a; };

/* Has a constructor. */
struct team {
    team(int n) : size(n), count(0) {}
    int last() const { return size - 1; }
    int size;
};

unsigned char
run(team &one, int n) noexcept
{
    for (int i = 0; i < n; ++i) { one.size += '{'; }
    return 0;
}
}
void begins(int n)
{
    if (n) {
"""


@pytest.fixture
def size(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script as a module."""
    spec = spec_from_file_location("size_script", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "size_script", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with files of each language, some of them too long."""
    long = "def long():\n    '''Text.\n    '''\n" + "    x = 1\n" * 60
    body = "    x += 1;\n" * 58
    texts = {
        "neurodriver/__init__.py": "x = 1\n" * 61,
        "neurodriver/a.py": "x = 1\n" * 301,
        "neurodriver/compat/b.py": "x = 1\n" * 451,
        "neurodriver/kernels/deep/c.cuh": f"void long(int x)\n{{\n{body}}}\n",
        "neurodriver/codegen/d.py": long,
        "components/e.py": "class Long:\n" + "    x = 1\n" * 250,
        "scripts/run": "#!/usr/bin/env bash\ntrue\n",
        "scripts/data": "no code\n" * 999,
        "tests/test_a.py": "x = 1\n" * 999,
        "setup.py": "x = 1\n",
        "ignored.py": "x = 1\n",
        ".gitignore": "ignored.py\n",
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "neurodriver" / "components").symlink_to("../components")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def test_parts_of_cplusplus(size: Any) -> None:
    """Functions and classes are found by braces; texts, comments, macros and values are not."""
    found = sorted((p.line, p.name, p.lines, p.limit) for p in size.c_parts(CPLUSPLUS))
    assert found == [
        (9, "least", 7, size.FUNCTION),
        (18, "pair", 1, size.CLASS),
        (21, "team", 5, size.CLASS),
        (22, "team", 1, size.FUNCTION),
        (23, "last", 1, size.FUNCTION),
        (27, "run", 6, size.FUNCTION),
        (34, "begins", 3, size.FUNCTION),
    ]


def test_over_the_budget(size: Any, checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Modules, classes and functions of all languages; tests and docstrings are free."""
    assert size.main(["--root", str(checkout)]) == 1
    *told, last = capsys.readouterr().out.splitlines()
    assert told == [
        "components/e.py:1 Long: 251 lines, 250 are allowed",
        "neurodriver/__init__.py: 61 lines, 60 are allowed",
        "neurodriver/compat/b.py: 451 lines, 450 are allowed",
        "neurodriver/codegen/d.py:1 long: 61 lines, 60 are allowed",
        "neurodriver/kernels/deep/c.cuh:1 long: 61 lines, 60 are allowed",
    ]
    assert last == "8 files, 1,191 lines; 5 over the budget, 2 modules of more than 300 lines"
    assert size.main(["--root", str(checkout), "--aim"]) == 0
    assert capsys.readouterr().out.split() == [
        "451", "neurodriver/compat/b.py", "301", "neurodriver/a.py",
    ]  # fmt: skip


def test_table(size: Any, checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines by folder and language, the core apart from `compat`; links count once."""
    assert size.main(["--root", str(checkout), "--table"]) == 0
    rows = [line.rsplit(maxsplit=5) for line in capsys.readouterr().out.splitlines()[1:]]
    assert {row[0]: [int(n.replace(",", "")) for n in row[1:]] for row in rows} == {
        ".": [1, 1, 0, 0, 1],
        "components": [1, 251, 0, 0, 251],
        "neurodriver": [2, 362, 0, 0, 362],
        "neurodriver/compat": [1, 451, 0, 0, 451],
        "neurodriver/kernels": [2, 63, 61, 0, 124],
        "scripts": [1, 0, 0, 2, 2],
        "tests": [1, 999, 0, 0, 999],
        "core: without compat": [4, 425, 61, 0, 486],
        "neurodriver in all": [5, 876, 61, 0, 937],
        "all": [9, 2127, 61, 2, 2190],
    }
