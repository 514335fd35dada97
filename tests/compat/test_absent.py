"""Packages that old scripts import and that are not installed: what stands for them."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from abc import ABCMeta, abstractmethod
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import pytest

import neurodriver.compat.old
from neurodriver.compat.absent import dill, finder, future_utils, past_builtins

assert neurodriver.compat.old is not None


def absent(name: str) -> bool:
    """Whether a package is not installed here."""
    return PathFinder.find_spec(name) is None


@pytest.mark.parametrize("name", finder.MODULES)
def test_every_module_can_be_imported(name: str) -> None:
    """With the names that it has, those of ``import *`` among them."""
    if not absent(name.partition(".")[0]):
        pytest.skip(f"{name} is installed")
    module = importlib.import_module(name)
    scope: dict[str, Any] = {}
    exec(f"from {name} import *", scope)
    native = finder.MODULES[name]
    if native:
        there = importlib.import_module(native)
        names = {n for n in getattr(there, "__all__", vars(there)) if not n.startswith("_")}
        assert names and names <= set(scope) and names <= set(vars(module))
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{name}.no_such_module")


def test_what_is_installed_comes_first(tmp_path: Path) -> None:
    """A package of one of these names that is on the path is left alone, also without a module."""
    for name in ("future", "dill"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("mine = 1\n")
    code = (
        "import neurodriver.compat.old, future, dill, past.builtins\n"
        "print(future.mine, dill.mine, hasattr(dill, 'dumps'))\n"
        "try:\n    import future.utils\nexcept ImportError:\n    print('none')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "1 1 False\nnone\n", done.stderr


def test_future() -> None:
    """What scripts for Python 2 and 3 use."""
    u = future_utils
    given = {"a": 1, "b": 2}
    assert list(u.iteritems(given)) == u.listitems(given) == [("a", 1), ("b", 2)]
    assert list(u.iterkeys(given)) == list(u.viewkeys(given)) == ["a", "b"]
    assert list(u.itervalues(given)) == u.listvalues(given) == [1, 2]
    assert u.lmap(abs, [-1]) == [1] and u.lrange(2) == [0, 1] and u.lzip([1], [2, 3]) == [(1, 2)]
    assert (u.old_div(7, 2), u.old_div(7.0, 2)) == (3, 3.5)
    assert u.PY3 and not u.PY2 and isinstance("a", u.string_types)
    with pytest.raises(ValueError, match="two"):
        u.raise_(ValueError, "two")
    try:
        u.raise_from(KeyError("x"), ValueError("y"))
    except KeyError as error:
        assert isinstance(error.__cause__, ValueError)


def test_with_metaclass() -> None:
    """The class has the metaclass and exactly the bases that were given."""

    class Base:
        """A base."""

    class Made(future_utils.with_metaclass(ABCMeta, Base)):  # type: ignore[misc]
        """Is abstract."""

        @abstractmethod
        def f(self) -> None: ...

    assert type(Made) is ABCMeta and Made.__bases__ == (Base,)
    with pytest.raises(TypeError, match="abstract"):
        Made()


def test_past(tmp_path: Path) -> None:
    """Built-in functions of Python 2."""
    p = past_builtins
    assert isinstance("a", p.basestring) and isinstance(b"a", p.basestring)
    assert not isinstance(1, p.basestring) and p.long is int and p.unicode is str
    assert p.map(None, [1, 2], "ab") == p.zip([1, 2], "ab") == [(1, "a"), (2, "b")]
    assert p.filter(None, [0, 3]) == [3] and p.reduce(max, [1, 4, 2]) == 4
    assert [p.cmp(1, 2), p.cmp(2, 2), p.cmp("b", "a")] == [-1, 0, 1]
    (tmp_path / "more.py").write_text("x = y + 1\n")
    scope = {"y": 2}
    p.execfile(str(tmp_path / "more.py"), scope)
    assert scope["x"] == 3


def test_dill(tmp_path: Path) -> None:
    """What pickle can do; for the rest it says what to install."""
    value = {"a": [1, 2.0], "b": Path("c")}
    assert dill.loads(dill.dumps(value, recurse=True)) == dill.copy(value) == value
    assert pickle.loads(dill.dumps(value, protocol=2)) == value
    with open(tmp_path / "x", "wb") as file:
        dill.dump(value, file)
    with open(tmp_path / "x", "rb") as file:
        assert dill.load(file) == value
    assert dill.pickles(value) and not dill.pickles(lambda: 1)
    with pytest.raises(pickle.PicklingError, match="pip install dill"):
        dill.dumps(lambda: 1)
    dill.extend(False)


def test_ranks_do_not_take_the_stand_in_for_dill() -> None:
    """A class of the script itself is refused with advice, not sent by a name nobody knows."""
    if not absent("dill"):
        pytest.skip("dill is installed")
    code = (
        "import neurodriver.compat.old, dill\n"
        "from neurodriver.parallel.service import dumps\n"
        "class Mine: pass\n"
        "try:\n    dumps(Mine)\nexcept Exception as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "install dill" in done.stdout and "Mine is defined in the script" in done.stdout
