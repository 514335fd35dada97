"""What only one operating system has is used in one module, and the rest runs without it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from neurodriver import system

ROOT = Path(__file__).parents[2]
FOLDERS = ("neurodriver", "components", "examples")
ONE_MODULE = "neurodriver/system.py"
ASKS = {ONE_MODULE, "neurodriver/native/platforms.py", "neurodriver/cli/info.py"}
"""Modules that may ask on which system they run."""

PLATFORMS = ("linux", "darwin", "win32")
WHO = {("sys", "platform"), ("os", "name"), ("os", "uname")}
PLACES = ("/proc", "/dev/", "/tmp", "/etc/", "/bin/", "/usr/", "/var/")
TYPING = ("typing", "typing_extensions")
TEXTS = {"read_text", "write_text"}
HINT = re.compile(
    r"^ *(?:import|from) (?!__future__|typing|dataclasses|numpy|collections|functools|neurodriver|"
    r"math|h5py|itertools|abc|re\b|json|warnings|contextlib|pathlib|types)[a-z_]"
    r"|(?:read|write)_text|\bopen\(|[\"'](?:" + "|".join(PLACES) + ")",
    re.MULTILINE,
)
"""What a module has in which there is something to look for; to look into all takes seconds."""


@cache
def names_of(module: str) -> dict[str, set[str]]:
    """Return the names of a module of Python on each platform, as type checkers know them."""
    mypy = pytest.importorskip("mypy", reason="mypy is not installed; install neurodriver[test]")
    stubs = Path(mypy.__path__[0], "typeshed", "stdlib", *module.split("."))
    files = [p for p in (stubs.with_suffix(".pyi"), stubs / "__init__.pyi") if p.exists()]
    if not files:
        return {platform: set() for platform in PLATFORMS}
    tree = ast.parse(files[0].read_text(encoding="utf-8"))
    return {platform: set(defined(tree.body, platform)) for platform in PLATFORMS}


def defined(body: list[ast.stmt], platform: str) -> Iterator[str]:
    """Yield the names that statements of a stub define on a platform."""
    for item in body:
        if isinstance(item, ast.If):
            known = {"sys": SimpleNamespace(platform=platform, version_info=sys.version_info)}
            test = ast.unparse(item.test)
            taken = bool(eval(test, known)) if test.startswith("sys.") else True
            yield from defined(item.body if taken else item.orelse, platform)
        elif isinstance(item, ast.FunctionDef | ast.ClassDef):
            yield item.name
        elif isinstance(item, ast.AnnAssign):
            yield ast.unparse(item.target)
        elif isinstance(item, ast.Assign):
            yield from map(ast.unparse, item.targets)
        elif isinstance(item, ast.ImportFrom) and item.module not in TYPING:
            yield from (one.asname or one.name for one in item.names)


def is_foreign(module: str, name: str = "") -> bool:
    """Whether some platform lacks a name of a module, or all of the module."""
    found = names_of(module)
    have = [name in names if name else len(names) > 3 for names in found.values()]
    return any(have) and not all(have)


def faults(text: str, where: str) -> Iterator[str]:
    """Yield what a module uses that not every system has."""
    if not HINT.search(text):
        return
    nodes = list(ast.walk(ast.parse(text)))
    modules: dict[str, str] = {}
    docs = {id(n.value) for n in nodes if isinstance(n, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Import):
            for one in node.names:
                modules[one.asname or one.name] = one.name
                if is_foreign(one.name):
                    yield f"import {one.name}"
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for one in node.names:
                if is_foreign(node.module, one.name) or is_foreign(node.module):
                    yield f"from {node.module} import {one.name}"
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id, "")
            if module and is_foreign(module, node.attr):
                yield f"{module}.{node.attr}"
            if where not in ASKS and (module == "platform" or (module, node.attr) in WHO):
                yield f"asks for the system: {module}.{node.attr}"
            if (module, node.attr) == ("os", "kill"):
                yield "os.kill, which ends a process on Windows"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in docs and node.value.startswith(PLACES):
                yield f"the place {node.value!r}"
        elif isinstance(node, ast.Call) and not encoded(node):
            yield f"a text without its encoding: {ast.unparse(node)}"


def encoded(call: ast.Call) -> bool:
    """Whether a call opens no text, or says how it is encoded."""
    given = {one.arg for one in call.keywords}
    if isinstance(call.func, ast.Attribute) and call.func.attr in TEXTS:
        return "encoding" in given or None in given
    if not isinstance(call.func, ast.Name) or call.func.id != "open" or not call.args:
        return True
    mode = call.args[1] if len(call.args) > 1 else None
    binary = isinstance(mode, ast.Constant) and "b" in str(mode.value)
    return binary or "encoding" in given


def test_names_of_one_system_stay_in_one_module() -> None:
    """No other module uses what Linux, macOS or Windows lacks, and texts say their encoding."""
    seen, found = 0, []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            where = path.relative_to(ROOT).as_posix()
            if where == ONE_MODULE or where.startswith(("neurodriver/components", "examples/old")):
                continue
            seen += 1
            found += [f"{where}: {one}" for one in faults(path.read_text(encoding="utf-8"), where)]
    assert seen > 300
    assert not found, "\n".join(found)


FOREIGN = """
import os, signal, fcntl, sys
from os import sched_yield
os.getuid(), os.pread, signal.SIGUSR1, sys.platform, os.kill(1, 0)
open("/proc/stat"), open("a", "rb"), open("a", "w", encoding="utf-8")
path.read_text()
"""


def test_such_names_are_found() -> None:
    """Each kind of fault is found, and what all systems have is none."""
    found = list(faults(FOREIGN, "neurodriver/some.py"))
    words = ("import fcntl", "sched_yield", "os.getuid", "os.pread", "SIGUSR1", "sys.platform",
             "os.kill", "/proc/stat", "open('/proc/stat')", "read_text()")  # fmt: skip
    assert len(found) == len(words), found
    assert all(any(word in one for one in found) for word in words), found
    assert not list(faults("import os, signal\nos.replace, signal.SIGTERM, os.getpid()", "x"))


ELSEWHERE = """
import builtins, os, pathlib, signal, subprocess, sys, tempfile, types
import ctypes, fcntl, multiprocessing, multiprocessing.connection, h5py  # they keep what they need
held = {}

def inode(fd):
    try:
        return os.fstat(fd).st_ino
    except OSError:
        return None

def locking(fd, mode, count):
    other = held.get(inode(fd), fd)
    if other != fd and inode(other) == inode(fd):  # else it was closed, and its number is free
        raise PermissionError(13, "locked")
    held[inode(fd)] = fd

def open_files():
    return {os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")}

def refused(function, count):
    def call(*paths, **more):
        if {os.path.realpath(one) for one in paths[:count]} & open_files():
            raise PermissionError(13, "a file of Windows that is open", str(paths[0]))
        return function(*paths, **more)
    return call

def no_proc(function):
    def call(file, *rest, **more):
        if str(file).startswith(("/proc", "/dev/shm")):
            raise FileNotFoundError(2, "no such file", str(file))
        return function(file, *rest, **more)
    return call

NAMES = '''sched_getaffinity sched_setaffinity sched_yield getuid geteuid getgid getegid pread
    pwrite fchmod fchown memfd_create copy_file_range sysconf O_NOFOLLOW O_CLOEXEC O_DIRECTORY
    SEEK_DATA SEEK_HOLE fork kill killpg getloadavg sendfile posix_fallocate mkfifo'''.split()
for name in NAMES:
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGUSR1", "SIGUSR2", "SIGHUP", "SIGQUIT", "pthread_kill", "pthread_sigmask"):
    delattr(signal, name)
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
sys.modules["msvcrt"] = types.ModuleType("msvcrt")
sys.modules["msvcrt"].__dict__.update(locking=locking, LK_NBLCK=2)
os.replace, os.unlink = refused(os.replace, 2), refused(os.unlink, 1)
os.rename, os.remove = refused(os.rename, 2), refused(os.remove, 1)
import io
builtins.open = io.open = no_proc(open)
import neurodriver as nd
from neurodriver import system
system.OPEN_FILES_MOVE = False
"""
"""A system without what Linux alone has; files that are open can be neither moved nor removed."""

RUNS = """
import numpy as np
from neurodriver.__main__ import main
from neurodriver.model.library import shipped

def build(bias):
    model = shipped()["GradedNeuron"]
    circuit = nd.Circuit.from_arrays([(model, 3, {"time_constant": 5.0, "bias": bias}, None)])
    return nd.LPU(circuit, 1e-3, recorders=[nd.MemoryRecorder([("V", None)])])

with build(1.0) as lpu:
    lpu.run(steps=300)
    V = lpu.recorders[0].get("V")
    lpu.save("state.h5")
circuit = lpu.circuit
recorder = nd.HDF5Recorder("run.h5", [("V", None)])
with nd.LPU(circuit, 1e-3, recorders=[recorder]) as lpu:
    for _ in range(3):
        lpu.run(steps=100)
with nd.open("run.h5") as recording:
    assert np.array_equal(recording.data("V"), V) and len(V) == 300 and V[-1].any()
circuit.save("circuit.h5")
import socket
pathlib.Path(f".out.h5.{socket.gethostname()}-1.tmp").touch()  # of a run that was killed
assert main(["run", "circuit.h5", "--dt", "1e-3", "--duration", "0.05", "-o", "out.h5"]) == 0
assert main(["run", "circuit.h5", "--dt", "1e-3", "--duration", "0.05", "-o", "out.h5", "-f"]) == 0
assert main(["info"]) == 0
from neurodriver.sweeps.store import FORMAT, SweepFolder
folder, said = SweepFolder("sweep"), dict.fromkeys(("listed", "steps", "duration"))
said |= {"format": FORMAT, "axes": {"bias": [1.0]}, "build": {"name": "build"}}
with folder.opened(said):
    try:
        with folder.opened(said):
            raise SystemExit("two sweeps in one folder")
    except nd.NeurodriverError as error:
        assert "another process" in str(error)
import neurodriver.compat.ctx_managers, neurodriver.compat.tools.mpi_run
assert not list(pathlib.Path().glob(".*")), list(pathlib.Path().glob(".*"))
"""


def test_a_system_without_what_linux_alone_has(tmp_path: Path) -> None:
    """Runs, recordings, checkpoints, sweeps and commands need none of it."""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("this system does not tell which files are open")
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE + RUNS], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_positions_without_pread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes are read and written at an address, with and without the calls of Linux."""
    path = tmp_path / "a"
    for lacking in ((), ("pread", "pwrite")):
        for name in lacking:
            monkeypatch.delattr(os, name)
        path.unlink(missing_ok=True)
        fd = os.open(path, system.NEW)
        assert system.write_at(fd, memoryview(b"abcdef"), 3) == 6
        assert system.write_at(fd, memoryview(b"xyz"), 0) == 3
        assert system.read_at(fd, 4, 2) == b"zabc" and system.read_at(fd, 9, 9) == b""
        os.close(fd)


def test_memory_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer is read from the structure that it fills."""

    def fill(pointer: object) -> int:
        pointer._obj.available = 10**9  # type: ignore[attr-defined]
        assert pointer._obj.length == 64  # type: ignore[attr-defined]
        return 1

    assert 1e6 < system.free_memory() < 1e15
    kernel = SimpleNamespace(GlobalMemoryStatusEx=fill)
    monkeypatch.setattr(system.ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    monkeypatch.setattr(Path, "read_text", lambda *a, **k: (_ for _ in ()).throw(OSError()))
    monkeypatch.delattr(os, "sysconf")
    assert system.free_memory() == 9e8
    monkeypatch.delattr(system.ctypes, "windll")
    assert system.free_memory() == float("inf")


@pytest.mark.parametrize(
    ("text", "seconds"), [("0:00.03", 0.03), ("01:02:03", 3723), ("2-00:00:01", 172801)]
)
def test_times_of_ps(text: str, seconds: float) -> None:
    """All forms in which ``ps`` writes a time."""
    assert system._seconds(text) == pytest.approx(seconds)


def test_processes_are_told_by_ps_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without /proc asks ``ps``; one without both says that it does not know."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert system.state_of(child.pid) in "RSD" and system.processor_seconds(child.pid) >= 0
    said = {"-p": "S    0:01.50\n"}
    monkeypatch.setattr(Path, "exists", lambda path: False)
    monkeypatch.setattr(
        system.subprocess, "run", lambda words, **more: SimpleNamespace(stdout=said[words[-2]])
    )
    assert (system.state_of(child.pid), system.processor_seconds(child.pid)) == ("S", 1.5)
    said["-p"] = ""
    assert system.state_of(child.pid) == " "
    monkeypatch.undo()
    child.communicate(b"\n")
    monkeypatch.setattr(Path, "exists", lambda path: False)
    monkeypatch.setenv("PATH", "")
    assert system.state_of(child.pid) == "?"


def test_programs_beside_python_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command and the module find the launcher of their environment, whatever PATH says."""
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mpiexec").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "other"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "own" / "python"))
    monkeypatch.setattr(system.sysconfig, "get_path", lambda name: str(tmp_path / "none"))
    assert system.program("mpiexec") == str(tmp_path / "own" / "mpiexec")
    (tmp_path / "own" / "mpiexec").unlink()
    assert system.program("mpiexec") == str(tmp_path / "other" / "mpiexec")
    assert system.program("nothing") is None
