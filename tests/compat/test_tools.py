"""The old tools under their old names: what they return, print and raise."""

from __future__ import annotations

import inspect
import logging as standard
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import h5py
import networkx as nx
import numpy as np
import pytest

from neurodriver.compat import ctx_managers, simpleio
from neurodriver.compat import uid as uid_module
from neurodriver.compat.mixins import LoggerMixin
from neurodriver.compat.tools import graph, logging, misc, plot, timing, zmq
from neurodriver.errors import LPUExecutionError, NeurodriverError


def signature(function: Any) -> str:
    parameters = inspect.signature(function).parameters.values()
    empty = inspect.Parameter.empty
    return ", ".join(
        p.name if p.default is empty else f"{p.name}={p.default!r}" for p in parameters
    )


def test_arguments_have_their_old_names() -> None:
    """Scripts pass them by name."""
    assert signature(simpleio.write_array) == "arr, filename, mode='w', complevel=0"
    assert signature(simpleio.read_array) == "filename"
    assert signature(simpleio.dataset_append) == "dataset, arr"
    assert signature(uid_module.uid) == "n=5"
    assert signature(misc.openmpi_cuda_support) == "path='ompi_info'"
    assert list(inspect.signature(misc.rand_bin_matrix).parameters) == ["sh", "N", "dtype"]
    assert list(inspect.signature(logging.setup_logger).parameters) == [
        "name", "level", "fmt", "fmt_name", "screen", "file_name", "mpi_comm", "zmq_addr",
        "log_exceptions", "multiline",
    ]  # fmt: skip
    assert signature(LoggerMixin) == "name, log_on=True"
    assert signature(zmq.get_random_port) == "min_port=49152, max_port=65536, max_tries=100"


@pytest.mark.parametrize("complevel", [0, 4])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16", "?"])
def test_simpleio_writes_appends_and_reads(tmp_path: Path, dtype: str, complevel: int) -> None:
    path = str(tmp_path / "a.h5")
    one, two = (np.arange(n).reshape(-1, 3).astype(dtype) for n in (12, 6))
    simpleio.write_array(one, path, complevel=complevel)
    simpleio.write_array(two, path, "a")
    read = simpleio.read_array(path)
    assert read.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(read, np.concatenate([one, two]))
    with h5py.File(path) as file:
        assert list(file) == ["array"] and file["/array"].maxshape == (None, 3)
        assert file["array"].compression == ("gzip" if complevel else None)
    simpleio.write_array(two, path)  # 'w' begins anew
    np.testing.assert_array_equal(simpleio.read_array(path), two)


def test_simpleio_takes_what_has_get_and_makes_what_is_missing(tmp_path: Path) -> None:
    """Arrays of a GPU are copied; 'a' makes the array where there is none."""

    class OnDevice:
        def get(self) -> np.ndarray:
            return np.arange(4.0)

    simpleio.write_array(OnDevice(), tmp_path / "a.h5", mode="a")
    np.testing.assert_array_equal(simpleio.read_array(tmp_path / "a.h5"), np.arange(4.0))
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        simpleio.dataset_append(file["array"], np.array([9.0]))
        np.testing.assert_array_equal(file["array"], [0, 1, 2, 3, 9])


def test_simpleio_says_what_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    simpleio.write_array(np.zeros((2, 3)), path)
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (np.zeros((2, 4)), {"mode": "a"}, r"\(2, 3\); \(2, 4\) cannot be appended"),
        (np.zeros(3), {"mode": "a"}, "cannot be appended"),
        (np.zeros(3), {"mode": "r"}, "mode: 'w' or 'a' needed, got 'r'"),
        (np.zeros(3), {"complevel": 10}, "complevel: 0 to 9"),
        (["a"], {}, "an array of numbers"),
        (3.0, {}, "at least one axis needed, got 0 axes"),
    ]
    for array, options, message in cases:
        with pytest.raises(NeurodriverError, match=message):
            simpleio.write_array(array, path, **options)
    np.testing.assert_array_equal(simpleio.read_array(path), np.zeros((2, 3)))
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["fixed"] = np.zeros(3)
        with pytest.raises(NeurodriverError, match="cannot grow beyond 3 rows"):
            simpleio.dataset_append(file["fixed"], np.zeros(1))
        with pytest.raises(NeurodriverError, match="got Dataset and list"):
            simpleio.dataset_append(file["fixed"], [1])
    with pytest.raises(NeurodriverError, match=r"b\.h5: no data set '/array'"):
        simpleio.read_array(tmp_path / "b.h5")
    with pytest.raises(NeurodriverError, match=r"none\.h5: no such file"):
        simpleio.read_array(tmp_path / "none.h5")


def test_timer_prints_what_it_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with timing.Timer("sum") as timer:
        pass
    with timing.Timer():
        pass
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Starting sum" and lines[1].startswith("Elapsed time for sum: 0.0")
    assert lines[2] == "Starting timer" and lines[3].startswith("Elapsed time: 0.0")
    assert lines[3].endswith("s") and timer.elapsed >= 0


def test_random_binary_matrices() -> None:
    np.random.seed(1)
    one = misc.rand_bin_matrix((20, 30), 50, np.int32)
    np.random.seed(1)
    np.testing.assert_array_equal(misc.rand_bin_matrix((20, 30), 50, np.int32), one)
    assert one.shape == (20, 30) and one.dtype == np.int32
    assert one.sum() == 50 and set(one.ravel().tolist()) == {0, 1}
    assert misc.rand_bin_matrix((2, 3), 99).sum() == 6


def test_caught_exceptions_are_told() -> None:
    said: list[str] = []

    def divide(x: int, by: int = 1) -> float:
        return x / by

    misc.catch_exception(divide, said.append, 1, by=2)
    assert said == []
    misc.catch_exception(divide, said.append, 1, by=0)
    line = divide.__code__.co_firstlineno + 1
    assert said == [f"divide: ZeroDivisionError: division by zero ({__file__}:{line})"]


def test_memoized_properties() -> None:
    class Thing:
        calls = 0

        @misc.memoized_property
        def answer(self) -> int:
            """Docs stay."""
            self.calls += 1
            return 42

    thing, other = Thing(), Thing()
    assert thing.answer == thing.answer == 42 and (thing.calls, other.calls) == (1, 0)
    assert thing.__dict__["_answer"] == 42 and Thing.answer.__doc__ == "Docs stay."


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0, 1, 2], [0, 1, 2]),
        ([0, 2, 4], [0, 1, 2]),
        ([0, 0, 2, 3, 3, 5], [0, 0, 1, 2, 2, 3]),
        ([0, 3, 1, 1, 2, 3], [0, 1, 2, 2, 3, 1]),
        (["b", "a", "b"], [0, 1, 0]),
        ([], []),
    ],
)
def test_renumbering(given: list[Any], expected: list[int]) -> None:
    assert misc.renumber_in_order(given) == expected


def test_mpi_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of a NumPy type is looked up; without mpi4py, the error says what to install."""
    MPI = ModuleType("mpi4py.MPI")
    MPI.Datatype = type(
        "Datatype", (), {"fromcode": staticmethod({"d": "D", "i": "I"}.__getitem__)}
    )  # type: ignore[attr-defined]
    package = ModuleType("mpi4py")
    package.MPI = MPI  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mpi4py", package)
    assert misc.dtype_to_mpi(np.float64) == "D" and misc.dtype_to_mpi("int32") == "I"
    with pytest.raises(ValueError, match="MPI has no type for complex64"):
        misc.dtype_to_mpi(np.complex64)
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(NeurodriverError, match=r'pip install "neurodriver\[mpi\]"'):
        misc.dtype_to_mpi(float)


@pytest.mark.parametrize(("word", "expected"), [("true", True), ("false", False)])
def test_cuda_of_open_mpi(tmp_path: Path, word: str, expected: bool) -> None:
    program = tmp_path / "ompi_info"
    text = f"mca:mpi:base:param:mpi_built_with_cuda_support:value:{word}"
    program.write_text(f"#!/bin/sh\necho other:value:true\necho {text}\n")
    program.chmod(0o755)
    assert misc.openmpi_cuda_support(str(program)) is expected
    assert misc.openmpi_cuda_support(str(tmp_path / "none")) is False


def test_lpu_execution_errors() -> None:
    """One class under both names; it keeps what the worker told, also through pickle."""
    assert misc.LPUExecutionError is LPUExecutionError
    assert str(LPUExecutionError()) == ""  # the old class takes no arguments
    lines = ["Traceback ...\n", "ZeroDivisionError: division by zero\n"]
    for error in (
        LPUExecutionError(lpu="lamina", step=7, traceback=lines),
        pickle.loads(
            pickle.dumps(LPUExecutionError(lpu="lamina", step=7, traceback="".join(lines)))
        ),
    ):
        assert (error.lpu, error.step, error.traceback) == ("lamina", 7, tuple(lines))
        assert str(error) == "LPU 'lamina' failed at step 7: ZeroDivisionError: division by zero"
    assert issubclass(LPUExecutionError, NeurodriverError)


def test_graphs_become_tables() -> None:
    pytest.importorskip("pandas")
    g = nx.MultiDiGraph()
    g.add_node("a", model="LeakyIAF", V=1.5)
    g.add_node("b", model="Port")
    g.add_node(("c", 1))
    g.add_edge("a", "b", weight=2)
    g.add_edge("a", "b", weight=3, delay=0.1)
    nodes, edges = graph.graph_to_df(g)
    assert nodes.index.tolist() == ["a", "b", ("c", 1)] and nodes.loc["a", "V"] == 1.5
    assert nodes["model"].tolist()[:2] == ["LeakyIAF", "Port"] and nodes["V"].isna().sum() == 2
    assert edges.index.tolist() == [("a", "b", 0), ("a", "b", 1)]
    assert edges.loc[("a", "b", 1), "weight"] == 3 and np.isnan(edges.loc[("a", "b", 0), "delay"])
    plain = nx.DiGraph([(1, 2, {"w": 5})])
    nodes, edges = graph.graph_to_df(plain)
    assert nodes.index.tolist() == [1, 2] and edges.loc[(1, 2), "w"] == 5
    nodes, edges = graph.graph_to_df(nx.MultiDiGraph())
    assert len(nodes) == len(edges) == 0 and edges.index.nlevels == 3


def test_images_are_shown(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    pixels = np.random.default_rng(0).random((4, 5, 3)).astype(np.float32)
    plt.imsave(tmp_path / "a.png", pixels)
    plt.figure()
    shown = plot.imdisp(tmp_path / "a.png")
    np.testing.assert_allclose(shown[..., :3], pixels, atol=1 / 255)
    np.testing.assert_array_equal(plt.gca().images[0].get_array(), shown)
    assert not plt.gca().axison
    plt.close()


@pytest.mark.parametrize("name", ["pydot", "pygraphviz"])
def test_a_missing_graphviz_is_told(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(NeurodriverError, match=f"show_{name} needs Graphviz and: pip install"):
        getattr(plot, f"show_{name}")(nx.path_graph(3))


def test_zmq_aids() -> None:
    class Poller:
        def poll(self, timeout: float) -> list[tuple[str, int]]:
            return [("one", 1), ("two", 4)]

    assert zmq.is_poll_in("one", Poller()) and not zmq.is_poll_in("two", Poller())
    assert not zmq.is_poll_in("three", Poller())
    assert 50000 <= zmq.get_random_port(50000, 50100) < 50100
    with pytest.raises(NeurodriverError, match="no free port"):
        zmq.get_random_port(max_tries=0)


def test_uids_count() -> None:
    one, two = uid_module.uid(), uid_module.uid(7)
    assert len(one) == 5 and len(two) == 7 and int(two) == int(one) + 1
    with pytest.raises(ValueError, match="does not fit into 0 digits"):
        uid_module.uid(0)


@pytest.fixture
def clean_logs() -> Iterator[None]:
    """Outputs and hook as before."""
    hook = sys.excepthook
    yield
    sys.excepthook = hook
    root = standard.getLogger(logging.ROOT)
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()


def test_logs_go_to_file_and_screen(
    tmp_path: Path, clean_logs: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """One set-up holds for the loggers of all objects; names are padded."""
    path = tmp_path / "neurokernel.log"
    logger = logging.setup_logger("main", screen=True, file_name=str(path))
    logger.info("begun")

    class Thing(LoggerMixin):
        pass

    thing = Thing("lpu 0")
    thing.log_warning("hot")
    thing.log_on = False
    thing.log_error("unheard")
    assert thing.log_on is False
    lines = path.read_text().splitlines()
    assert [line.split(" ", 2)[2] for line in lines] == [
        f"INFO {'main':20}|begun",
        f"WARNING {'lpu 0':20}|hot",
    ]
    assert capsys.readouterr().out.splitlines() == lines
    logging.setup_logger(level="WARNING", file_name=str(path), fmt="%(name)s: %(message)s",
                         fmt_name=str.upper)  # fmt: skip
    thing.log_on = True
    thing.log_info("unheard")
    thing.log_critical("end")
    assert path.read_text() == "LPU 0: end\n"  # the file is begun anew, the format is the new one
    capsys.readouterr()
    logging.setup_logger(screen=True, fmt="{message}").error("once")
    assert capsys.readouterr().out == "once\n"  # the first screen is gone


def test_a_log_of_several_processes(
    tmp_path: Path, clean_logs: None, capsys: pytest.CaptureFixture[str]
) -> None:
    logging.setup_logger(mpi_comm=object(), screen=True, fmt="{message}").error("no file")
    assert capsys.readouterr().out == "no file\n"
    with pytest.raises(NeurodriverError, match="log cannot be written"):
        logging.setup_logger(file_name=str(tmp_path / "none" / "a.log"))

    class Comm:
        def Get_rank(self) -> int:
            return 1

        def Barrier(self) -> None:
            pass

    (tmp_path / "a.log").write_text("of rank 0\n")
    logging.setup_logger(file_name=str(tmp_path / "a.log"), mpi_comm=Comm()).error("of rank 1")
    assert (tmp_path / "a.log").read_text().splitlines()[0] == "of rank 0"
    assert "of rank 1" in (tmp_path / "a.log").read_text()


@pytest.mark.parametrize("multiline", [False, True])
def test_uncaught_exceptions_are_logged_and_shown(tmp_path: Path, multiline: bool) -> None:
    code = (
        "from neurodriver.compat.tools.logging import setup_logger\n"
        f"setup_logger('x', file_name={str(tmp_path / 'a.log')!r}, multiline={multiline})\n"
        "1 / 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "ZeroDivisionError: division by zero" in done.stderr
    lines = (tmp_path / "a.log").read_text().splitlines()
    assert lines[-1].endswith("ZeroDivisionError: division by zero")
    assert all("ERROR" in line for line in lines) and (len(lines) > 2) is multiline
    assert multiline or "|Uncaught exception: Traceback" in lines[0]


def test_signals(capsys: pytest.CaptureFixture[str]) -> None:
    """A signal raises, leaves the block, or is ignored; afterwards all is as before."""
    before = signal.getsignal(signal.SIGUSR1), signal.getsignal(signal.SIGINT)
    me = os.getpid()
    with (
        pytest.raises(KeyError, match=f"signal {int(signal.SIGUSR1)} detected in main"),
        ctx_managers.ExceptionOnSignal(e=KeyError, i="main"),
    ):
        os.kill(me, signal.SIGUSR1)
    reached = []
    with ctx_managers.TryExceptionOnSignal(signal.SIGUSR1, ValueError):
        os.kill(me, signal.SIGUSR1)
        reached.append("after the signal")
    with ctx_managers.IgnoreSignal(), ctx_managers.IgnoreKeyboardInterrupt():
        os.kill(me, signal.SIGUSR1)
        os.kill(me, signal.SIGINT)
        reached.append("ignored")
    got: list[int] = []
    with ctx_managers.OnKeyboardInterrupt(lambda number, frame: got.append(number)):
        os.kill(me, signal.SIGINT)
    assert reached == ["ignored"] and got == [signal.SIGINT]
    assert (signal.getsignal(signal.SIGUSR1), signal.getsignal(signal.SIGINT)) == before
