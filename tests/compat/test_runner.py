"""``python -m neurodriver.compat``: a script runs as Python runs it, with the old names around."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from launch import start_in_foreground

from neurodriver.compat import aids

ROOT = Path(__file__).parents[2]


def run(script: Path, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a script through the runner."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "neurodriver.compat", str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path},
    )


def script(folder: Path, text: str) -> Path:
    """Write a script into a folder of its own."""
    path = folder / "scripts" / "old.py"
    path.parent.mkdir()
    path.write_text(text)
    return path


def test_what_a_script_sees(tmp_path: Path) -> None:
    """Arguments, folder, name and file are those that Python itself would give it."""
    text = (
        "import json, sys\nimport beside\n"
        "print(json.dumps([sys.argv, sys.path[0], __name__, __file__, beside.value,"
        " sys.modules['__main__'].__dict__ is globals()]))\n"
    )
    path = script(tmp_path, text)
    (path.parent / "beside.py").write_text("value = 5\n")
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "beside.py").write_text("value = 6\n")  # the working folder is not the script's
    done = run(path, "-g", "0", "--log", "none", cwd=other)
    assert done.returncode == 0, done.stderr
    argv = [str(path), "-g", "0", "--log", "none"]
    assert json.loads(done.stdout) == [argv, str(path.parent), "__main__", str(path), 5, True]


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("sys.exit(7)", 7, ""),
        ("sys.exit('no circuit')", 1, "no circuit\n"),
        ("sys.exit()", 0, ""),
        ("pass", 0, ""),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt\n"),
    ],
)
def test_exit_status(line: str, status: int, said: str, tmp_path: Path) -> None:
    """The status of a script is that of the runner."""
    done = run(script(tmp_path, f"import sys\n{line}\n"))
    assert (done.returncode, done.stderr) == (status, said)


def test_a_script_of_its_own_fault_shows_its_own_frames(tmp_path: Path) -> None:
    """A traceback begins in the script and has no frame of the runner."""
    path = script(tmp_path, "def f():\n    return {}['x']\n\n\nf()\n")
    done = run(path)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):" and lines[-1] == "KeyError: 'x'"
    files = [line for line in lines if line.startswith("  File ")]
    assert files == [f'  File "{path}", line 5, in <module>', f'  File "{path}", line 2, in f']


def test_an_error_of_the_library_ends_at_the_script(tmp_path: Path) -> None:
    """The frames inside the library say nothing that its message does not say."""
    text = (
        "from neurokernel.LPU.LPU import LPU\n"
        "import networkx as nx\nG = nx.MultiDiGraph()\n"
        "G.add_node('a', **{'class': 'LeakyIF'})\nLPU(1e-4, 'obj', G)\n"
    )
    path = script(tmp_path, text)
    done = run(path)
    assert done.returncode == 1
    files = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert files == [f'  File "{path}", line 5, in <module>']
    assert "Model LeakyIF: Can not find implementation" in done.stderr


def test_a_refused_import_ends_at_the_script(tmp_path: Path) -> None:
    """What is not provided is told at the line that imports it."""
    path = script(tmp_path, "import sys\nfrom neurokernel.LPU.utils.parray import PitchArray\n")
    done = run(path)
    assert done.returncode == 1
    files = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert files == [f'  File "{path}", line 2, in <module>']
    assert "use NumPy" in done.stderr


def test_syntax_errors_are_the_scripts(tmp_path: Path) -> None:
    """A script of Python 2 is refused as Python refuses it."""
    path = script(tmp_path, "print 'hello'\n")
    done = run(path)
    assert done.returncode == 1
    assert f'File "{path}", line 1' in done.stderr and "print(" in done.stderr
    assert "neurodriver" not in done.stderr.replace(str(path), "")


@pytest.mark.parametrize("arguments", [[], ["no_such_script.py"]])
def test_no_script(arguments: list[str]) -> None:
    """Without a script the status is 2, as Python's own."""
    done = subprocess.run(
        [sys.executable, "-m", "neurodriver.compat", *arguments],
        capture_output=True, text=True, cwd=ROOT, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""
    assert (arguments or ["usage"])[0] in done.stderr


def test_interrupts_reach_the_script(tmp_path: Path) -> None:
    """Ctrl-C interrupts the script, which may handle it."""
    text = (
        "import time\nprint('ready', flush=True)\n"
        "try:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('handled')\n"
    )
    path = script(tmp_path, text)
    words = [sys.executable, "-m", "neurodriver.compat", path]
    with start_in_foreground(words, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[0] == "handled\n"
    assert process.returncode == 0


def test_dropped_names_are_back(tmp_path: Path) -> None:
    """What NumPy, networkx, h5py and Python dropped works under the runner."""
    text = """
import collections, cPickle, json, time, warnings
import h5py
import networkx as nx
import numpy as np
import pycuda.driver as cuda
import pycuda.gpuarray as garray
from pycuda.tools import dtype_to_ctype
import pycuda.autoinit

G = nx.DiGraph()
G.add_node(1, a=2)
G.node[1]["b"] = 3
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    nx.write_gpickle(G, "graph.gpickle")
    read = nx.read_gpickle("graph.gpickle")
with h5py.File("x.h5", "w") as file:
    file["array"] = [1, 2]
    value = file["array"].value.tolist()
print(json.dumps([
    np.array([1.7]).astype(np.int).tolist(), np.float is float, np.asscalar(np.array([4])),
    read.node[1], [str(w.message).split()[0] for w in caught], value,
    cPickle.loads(cPickle.dumps([1])), time.clock() >= 0,
    isinstance({}, collections.Mapping), dtype_to_ctype(np.float64),
]))
"""
    done = run(script(tmp_path, text), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = ["write_gpickle", "read_gpickle"]
    expected = [[1], True, 4, {"a": 2, "b": 3}, told, [1, 2], [1], True, True, "double"]
    assert json.loads(done.stdout) == expected


@pytest.mark.parametrize("before", [True, False])
def test_a_notebook_gets_the_names_of_networkx(before: bool) -> None:
    """Importing the old paths puts ``G.node`` back, and changes NumPy, h5py and Python not at all.

    Whether networkx was imported before or is imported later.
    """
    imports = ["networkx", "neurodriver.compat.old"]
    code = (
        f"import {', '.join(imports if before else imports[::-1])}\n"
        "import h5py, numpy, time\n"
        "G = networkx.MultiDiGraph()\n"
        "G.add_node('a', b=1)\n"
        "G.node['a']['c'] = 2\n"
        "print(G.nodes['a'], hasattr(networkx, 'read_gpickle'), hasattr(h5py.Dataset, 'value'),"
        " 'int' in vars(numpy), hasattr(time, 'clock'), type(networkx.__spec__.loader).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    said = "{'b': 1, 'c': 2} True False False False SourceFileLoader"
    assert done.stdout.strip() == said, done.stderr


STARTED = """
import json, sys
import networkx as nx, numpy as np
from neurokernel.LPU.LPU import LPU
from future.utils import iteritems
from past.builtins import xrange

def told(x):
    return [LPU.__module__, hasattr(nx.Graph, "node"), np.int is int, len(xrange(x)), sys.argv[1:]]
"""


def test_processes_that_a_script_starts_have_the_old_names(tmp_path: Path) -> None:
    """As programs of their own, with their own sitecustomize, and as workers."""
    text = (
        STARTED + "import multiprocessing, subprocess\n"
        "if __name__ == '__main__':\n"
        "    code = 'import beside, sys; print(beside.json.dumps(beside.told(3)));'\n"
        '    code += \'print(getattr(sys, "mine", 0), sys.path[-1] == "")\'\n'
        "    done = subprocess.Popen([sys.executable, '-c', code, 'x'], cwd=sys.path[0],"
        " stdout=subprocess.PIPE, text=True).communicate()[0]\n"
        "    print(done, end='')\n"
        "    done = subprocess.run([sys.executable, sys.path[0] + '/child.py'], check=True)\n"
        "    for way in ('spawn', 'forkserver', 'fork'):\n"
        "        with multiprocessing.get_context(way).Pool(1) as pool:\n"
        "            print(json.dumps(pool.map(told, [4])[0]))\n"
    )
    path = script(tmp_path, text)
    (path.parent / "beside.py").write_text(STARTED)
    child = STARTED + "import subprocess\nprint(json.dumps(told(5)), flush=True)\n"
    child += "sys.exit(subprocess.call([sys.executable, '-c', 'import neurokernel.core_gpu']))\n"
    (path.parent / "child.py").write_text(child)
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import sys\nsys.mine = 1\n")
    folders = os.pathsep.join([str(ROOT), str(own)])
    done = subprocess.run(
        [sys.executable, "-m", "neurodriver.compat", str(path)], capture_output=True, text=True,
        timeout=120, env={**os.environ, "PYTHONPATH": folders},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    old = ["neurodriver.compat.lpu", True, True]
    assert json.loads(lines[0]) == [*old, 3, ["x"]]
    assert lines[1] == "1 False"
    assert json.loads(lines[2]) == [*old, 5, []]
    assert [json.loads(line) for line in lines[3:]] == [[*old, 4, []]] * 3


def test_a_python_without_this_library_starts_as_ever(tmp_path: Path) -> None:
    """What the children are given does no harm where the library cannot be imported."""
    text = (
        "import subprocess, sys\n"
        "code = 'import sys; sys.modules[\"numpy\"] = None; import sitecustomize; print(1)'\n"
        "subprocess.run([sys.executable, '-S', '-c', code], check=True)\n"
    )
    done = run(script(tmp_path, text))
    assert done.returncode == 0 and done.stdout.split() == ["1"], done.stdout + done.stderr


def test_every_dropped_name_of_numpy_means_something() -> None:
    """The table leads to names that exist."""
    import builtins

    import numpy

    for place in aids.NUMPY.values():
        module, _, name = place.partition(":")
        assert hasattr({"numpy": numpy, "builtins": builtins}[module], name), place
