"""The host compiler and the cache of compiled kernels."""

from __future__ import annotations

import os
import runpy
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neurodriver.cli.info import report
from neurodriver.errors import CompileError
from neurodriver.native import cache as stored
from neurodriver.native import compiler

ANSWER = 'extern "C" int answer() { return %d; }'


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point the cache at an empty folder."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("NEURODRIVER_CACHE", str(folder))
    compiler._found.cache_clear()
    return folder


def libraries(folder: Path) -> list[Path]:
    """Return the libraries in a cache."""
    return sorted(folder.glob("*.so"))


def test_equal_text_is_compiled_once(cache: Path) -> None:
    """The second build finds the first one's file; another text or flag makes another."""
    assert compiler.build([(ANSWER % 41, ())])[0].answer() == 41
    first = libraries(cache)
    stamp = first[0].stat().st_mtime_ns
    assert compiler.build([(ANSWER % 41, ())])[0].answer() == 41
    assert libraries(cache) == first and first[0].stat().st_mtime_ns == stamp
    compiler.build([(ANSWER % 42, ()), (ANSWER % 41, ("-DOTHER",))])
    assert len(libraries(cache)) == 3
    assert not list(cache.glob(".build-*"))


def test_what_has_begun_is_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`build` waits for it, and says what is wrong with it."""
    made: list[str] = []
    library = compiler._library
    compiler.find_compiler()

    def noted(*given: Any) -> Path:
        made.append(given[1])
        return library(*given)

    monkeypatch.setattr(compiler, "_library", noted)
    good, bad = (ANSWER % 5, ()), ("no text", ())
    for one in (good, good, bad):
        compiler.begin(one)
    assert [one.answer() for one in compiler.build([good, good])] == [5, 5]
    with pytest.raises(CompileError, match="no text"):
        compiler.build([bad])
    assert sorted(made) == sorted([good[0], bad[0]])


def test_nobody_waits_for_what_nobody_asks_for(cache: Path, tmp_path: Path) -> None:
    """A script that fails early ends the compilers that have begun; no part of a file is left."""
    slow, started = tmp_path / "slow", tmp_path / "started"
    told = f'case "$*" in *.so) touch {started}; sleep 60;; *--version) echo 1;; esac'
    slow.write_text(f"#!/bin/sh\n{told}\n")
    slow.chmod(0o700)
    script = (
        "import pathlib, time\nfrom neurodriver.native import compiler\n"
        "compiler.begin(('int x;', ()))\n"
        f"while not pathlib.Path({str(started)!r}).exists(): time.sleep(0.01)\n"
        "print(time.time())\nraise SystemExit('early')"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=50,
        env=os.environ | {"NEURODRIVER_CXX": str(slow)},
    )  # fmt: skip
    assert time.time() - float(run.stdout) < 5.0
    assert run.stderr == "early\n"
    assert not [*cache.glob(".build-*"), *cache.glob("*.so*")]


def test_to_begin_needs_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no cache can be made, kernels lie in a folder of the process."""
    tmp_path.joinpath("home").touch()
    monkeypatch.delenv("NEURODRIVER_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for _ in range(2):
        compiler.begin((ANSWER % 6, ()))
        (library,) = compiler.build([(ANSWER % 6, ())])
        assert library.answer() == 6
        Path(library._name).unlink()
        compiler.begin((ANSWER % 6, ()))  # nobody builds it


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
def test_a_forked_child_waits_for_no_thread_of_its_parent(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, has_begun, go_on = (ANSWER % 7, ()), threading.Event(), threading.Event()
    compiler.find_compiler()

    def slow(*given: Any) -> Path:
        has_begun.set()
        go_on.wait(10)
        return Path()

    with monkeypatch.context() as patch:
        patch.setattr(compiler, "_library", slow)
        compiler.begin(source)
        assert has_begun.wait(10)
    child = os.fork()
    if not child:
        threading.Timer(5, os._exit, [1]).start()
        os._exit(compiler.build([source])[0].answer())
    _, status = os.waitpid(child, 0)
    go_on.set()
    compiler._begun.clear()
    assert os.waitstatus_to_exitcode(status) == 7


def test_two_processes_build_at_once(cache: Path, tmp_path: Path) -> None:
    """Processes that build the same text side by side all get a whole library; one compiles it."""
    command, log = compiler.find_compiler().command, tmp_path / "asked"
    noted = tmp_path / "noted"
    noted.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {shlex.join(command)} "$@"\n')
    noted.chmod(0o700)
    code = (
        "from neurodriver.native.compiler import build; "
        f"print([lib.answer() for lib in build([({ANSWER % 7!r}, ()), ({ANSWER % 8!r}, ())])])"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
            env=os.environ | {"NEURODRIVER_CXX": str(noted)},
        )
        for _ in range(4)
    ]  # fmt: skip
    said = [process.communicate(timeout=120)[0].strip() for process in started]
    assert said == ["[7, 8]"] * 4
    assert len(libraries(cache)) == 2 and not [*cache.glob("*.lock")]
    assert log.read_text().count(".so") == 2


def test_cache_is_private(cache: Path) -> None:
    """The folder is made for the user alone; one that others can write into is refused."""
    compiler.build([(ANSWER % 1, ())])
    assert cache.stat().st_mode & 0o077 == 0
    cache.chmod(0o777)
    with pytest.raises(CompileError, match=r"writable by you alone.*delete it, or name another"):
        compiler.build([(ANSWER % 1, ())])


def code(library: Path, change: Callable[[bytes], bytes]) -> int:
    """Change a library in the cache, build it again in a new process; return its exit code."""
    changed = library.with_name("changed")  # this process has loaded the other file
    changed.write_bytes(change(library.read_bytes()))
    changed.chmod(0o600)
    changed.replace(library)
    text = "from neurodriver.native.compiler import build; "
    text += f"print(build([({ANSWER % 5!r}, ())])[0].answer())"
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert run.stdout == "5\n", run.stderr
    return run.returncode


@pytest.mark.parametrize(
    "change",
    [lambda data: data[:4096], lambda data: b"", lambda data: data[:-9], lambda data: b"x" * 5000],
    ids=["one page", "empty", "cut", "text"],
)
def test_a_damaged_library_is_built_again(cache: Path, change: Callable[[bytes], bytes]) -> None:
    """A library that differs from its checksum is never loaded: no SIGBUS, the right answer."""
    compiler.build([(ANSWER % 5, ())])
    (library,) = libraries(cache)
    whole = library.read_bytes()
    assert code(library, change) == 0
    assert library.read_bytes() == whole


def test_a_library_without_its_checksum_is_built_again(cache: Path) -> None:
    """So is one whose process was killed before it was complete, and one that others can write."""
    compiler.build([(ANSWER % 5, ())])
    (library,) = libraries(cache)
    library.with_name(library.name + ".sha256").unlink()
    assert code(library, lambda data: b"") == 0
    before = library.stat().st_ino
    library.chmod(0o666)
    compiler.build([(ANSWER % 5, ())])
    assert library.stat().st_ino != before and library.stat().st_mode & 0o077 == 0


def test_a_planted_library_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that somebody else put there while the folder was open is not run."""
    compiler.build([(ANSWER % 5, ())])
    (library,) = libraries(cache)
    if os.getuid():
        pytest.skip("only root can give a file to somebody else")
    os.chown(library, 12345, 12345)
    with pytest.raises(CompileError, match=r"belongs to somebody else.*delete the folder"):
        compiler.build([(ANSWER % 5, ())])


def test_failures_are_not_remembered(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that failed once, as the temporary folder was full, is tried again."""
    good = compiler.find_compiler().command[0]
    broken, mark = tmp_path / "c++", tmp_path / "full"
    mark.touch()
    broken.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exec {good} --version\n'
        f'[ -e {mark} ] && {{ echo "No space left on device" >&2; exit 1; }}\nexec {good} "$@"\n'
    )
    broken.chmod(0o755)
    monkeypatch.setenv("NEURODRIVER_CXX", str(broken))
    compiler._found.cache_clear()
    assert compiler.find_compiler().command == (good,)  # passed over
    mark.unlink()
    compiler._found.cache_clear()
    assert compiler.find_compiler().command == (str(broken),)


def test_a_cache_that_cannot_be_written(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels go to a folder of the process where the cache takes none."""

    def full(path: Path, make: Callable[[Path], object]) -> Path:
        if path.parent == cache:
            raise OSError(28, "No space left on device")
        return made(path, make)

    made = stored._made
    monkeypatch.setattr(stored, "_made", full)
    assert compiler.build([(ANSWER % 5, ())])[0].answer() == 5
    assert not libraries(cache)


def test_refused_text_is_told_with_the_compilers_words(cache: Path) -> None:
    """The error holds what the compiler said and the command; nothing is left in the cache."""
    with pytest.raises(CompileError, match="nonsense") as caught:
        compiler.build([("/* a kernel */\nint f() { return nonsense; }", ())])
    assert "a kernel" in str(caught.value) and "while running" in str(caught.value)
    assert not libraries(cache) and not list(cache.glob(".build-*"))


def test_no_compiler(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any compiler the error says what to install."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("NEURODRIVER_CXX", raising=False)
    monkeypatch.setattr(compiler, "find_spec", lambda name: None)
    with pytest.raises(CompileError, match=r"no C\+\+ compiler found.*neurodriver\[compiler\]"):
        compiler.find_compiler()


WHEEL = """#!{python}
import os, sys
os.environ["PATH"] = {path!r}
assert sys.argv[1] == "c++"
os.execv({good!r}, [{good!r}, *sys.argv[2:]])
"""


def test_compiler_of_a_wheel(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where PATH has no compiler, the one of the extra is found, named, and makes kernels."""
    (good,) = compiler.find_compiler().command
    package, own = tmp_path / "ziglang", shutil.which(good)
    if own is None or sys.platform == "win32":
        pytest.skip("a script of Python cannot stand for the compiler here")
    package.mkdir()
    (package / "__init__.py").touch()
    program = package / "zig"
    text = WHEEL.format(python=sys.executable, path=os.environ["PATH"], good=own)
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("NEURODRIVER_CXX", raising=False)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.syspath_prepend(str(tmp_path))
    compiler._found.cache_clear()
    assert compiler.find_compiler().command == (str(program), "c++")
    assert "first use" in capsys.readouterr().err
    assert compiler.build([(ANSWER % 8, ())])[0].answer() == 8
    assert report()["compiler"].startswith(f"{program} c++: ")


def test_named_compiler_comes_first(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NEURODRIVER_CXX may hold a command with arguments; one that does not run is passed over."""
    monkeypatch.delenv("NEURODRIVER_CXX", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    found = compiler.find_compiler()
    monkeypatch.setenv("NEURODRIVER_CXX", " ".join(["env", *found.command]))
    compiler._found.cache_clear()
    assert compiler.find_compiler().command == ("env", *found.command)
    monkeypatch.setenv("NEURODRIVER_CXX", "/nowhere/c++")
    compiler._found.cache_clear()
    assert compiler.find_compiler().command == found.command
    monkeypatch.setenv("CXX", " ".join(["env", "SAID=CXX", *found.command]))
    compiler._found.cache_clear()
    assert compiler.find_compiler().command == ("env", "SAID=CXX", *found.command)


@pytest.fixture(autouse=True, scope="module")
def forget() -> object:
    """Let later tests find the compiler anew."""
    yield
    compiler._found.cache_clear()


def test_tests_that_are_started_by_tests_name_the_users_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The quick compiler, which the first ones name, would call itself."""
    conftest = Path(__file__).parents[1] / "conftest.py"
    named = runpy.run_path(str(conftest))["_named"]
    monkeypatch.setenv("QUICK_CXX", "some-c++ -option")
    monkeypatch.setenv("NEURODRIVER_CXX", f"{conftest.with_name('quick-c++')} -O1")
    assert named() == "some-c++ -option"
    monkeypatch.setenv("NEURODRIVER_CXX", "another-c++")
    assert named() == "another-c++"
    monkeypatch.delenv("NEURODRIVER_CXX")
    assert named() is None
