"""The old library is a leaf: the core neither imports nor mentions it, and runs without it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from neurodriver import adapters

PACKAGE = Path(__file__).parents[2] / "neurodriver"
TABLE = "adapters.py"
WORDS = re.compile(r"\bcompat\b|neurokernel|\bold (?:library|style)\b|\blegacy", re.IGNORECASE)


def core() -> list[Path]:
    """Return the files of the core: all but ``compat`` and the table of adapters."""
    files = [p for p in PACKAGE.rglob("*") if p.suffix in (".py", ".h", ".cuh", ".cpp", ".cu")]
    return [p for p in files if p.relative_to(PACKAGE).parts[0] not in ("compat", TABLE)]


def test_the_core_does_not_mention_it() -> None:
    """Only the table of adapters names the package of the old library."""
    files = core()
    assert len(files) > 150 and not any("compat" in p.parts for p in files)
    said = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if WORDS.search(line)
    ]
    assert said == []
    assert WORDS.search((PACKAGE / TABLE).read_text(encoding="utf-8"))


def test_the_table_names_what_exists() -> None:
    """Every place of the table leads to a class or a name that is there."""
    kinds = [len(adapters.adapters(kind)) for kind in adapters.ADAPTERS]
    assert kinds == [len(places) for places in adapters.ADAPTERS.values()]
    assert sum(kinds) > 0


WITHOUT = """
import importlib.abc, sys
class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == 'neurodriver.compat' or name.startswith('neurodriver.compat.'):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Block())
import neurodriver as nd
from neurodriver.__main__ import main
"""


def without(code: str) -> str:
    """Run code where the package of the old library cannot be imported; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT + code],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_core_runs_without_it(tmp_path: Path) -> None:
    """A circuit is read, wired to another one, run and recorded."""
    circuit = PACKAGE.parent / "data" / "circuits" / "one_neuron.gexf"
    out = without(
        f"circuit = nd.Circuit.from_file({str(circuit)!r})\n"
        "man = nd.Manager()\n"
        "man.add(nd.LPU, 'a', circuit, dt=1e-4, backend='cpu')\n"
        "man.spawn()\nman.start(steps=20)\nman.wait()\n"
        "print(man.lpus['a'].step)\n"
        f"print(main(['run', {str(circuit)!r}, '--dt', '1e-4', '--duration', '1e-2', "
        f"'-o', {str(tmp_path / 'x.h5')!r}, '--backend', 'cpu']))\n"
        "print(sorted(m for m in sys.modules if 'compat' in m and 'neurodriver' in m))"
    )
    lines = out.splitlines()
    assert lines[0] == "20" and lines[-2:] == ["0", "[]"]


def test_a_class_with_run_step_runs_without_it() -> None:
    """Code of a model needs no adapter; names that only an adapter knows mean nothing."""
    out = without(
        "class Count(nd.NDComponent):\n"
        "    accesses, updates, params = ['I'], ['V'], {'by': nd.Parameter('mV')}\n"
        "    states = {'total': 5.0}\n"
        "    def run_step(self, update_pointers):\n"
        "        self.sum_in_variable('I', self.inputs['I'])\n"
        "        total = self.internal_states['total']\n"
        "        total += self.params_dict['by'] + self.inputs['I']\n"
        "        nd.host_array(update_pointers['V'], self.num_comps, self.dtype)[:] = total\n"
        "circuit = nd.Circuit.from_arrays([(Count, 3, {'by': [1.0, 2.0, 3.0]}, None)])\n"
        "one = nd.StepInput('I', ['Count/0'], 10.0, 0.0, 1.0)\n"
        "with nd.LPU(circuit, 1e-3, [one], backend='cpu') as lpu:\n"
        "    lpu.run(steps=4)\n    print(lpu.get('V').tolist())\n"
        "print(hasattr(Count, 'internals'), Count.runtime.states)\n"
    )
    assert out.splitlines() == ["[49.0, 13.0, 17.0]", "False {'total': 5.0}"]


def test_without_it_its_graphs_are_refused() -> None:
    """The message is that for any node without a model."""
    out = without(
        "import networkx as nx\n"
        "graph = nx.MultiDiGraph()\n"
        "graph.add_node(0, model='LeakyIAF')\n"
        "try:\n    nd.Circuit.from_graph(graph)\n"
        "except nd.CircuitError as error:\n    print(error)\n"
    )
    assert "node '0' has no attribute 'class'; name its model" in out


@pytest.mark.parametrize("name", list(adapters.NAMES))
def test_names_of_the_table_are_names_of_the_package(name: str) -> None:
    """They are imported when they are first used."""
    import neurodriver

    assert getattr(neurodriver, name).__name__ == name
    assert name in neurodriver.__all__
