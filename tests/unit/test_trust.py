"""``neurodriver check`` runs no program that an experiment names, but with ``--trust``."""

from __future__ import annotations

from pathlib import Path

import pytest

from neurodriver.__main__ import main

PROGRAM = """
from pathlib import Path
Path(__file__).with_suffix(".run").touch()
import neurodriver as nd

def make():
    return nd.Circuit([nd.Population("LeakyIAFShiu", 3, name="cells")])

def pattern(dt):
    raise ValueError("called")
"""

WAYS = {
    "circuit": 'function = "own_{n}:make"',
    "input": 'circuit = "c.h5"\n[[lpu.one.input]]\nfunction = "own_{n}:make"',
    "models": 'circuit = "c.h5"\nmodels = ["own_{n}.py"]',
}
"""Where a file may name a program."""


def write(folder: Path, lpu: str, number: int) -> tuple[Path, Path]:
    """Write an experiment and the module beside it; return it, and what the module makes."""
    from neurodriver import Circuit, Population

    Circuit([Population("LeakyIAFShiu", 3, name="cells")]).save(folder / "c.h5")
    (folder / f"own_{number}.py").write_text(PROGRAM)
    path = folder / "experiment.toml"
    path.write_text(f"dt = 1e-4\nsteps = 10\n[lpu.one]\n{lpu.format(n=number)}\n")
    return path, folder / f"own_{number}.run"


@pytest.mark.parametrize("way", ["circuit", "input", "models"])
def test_programs_are_listed(way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The module is not imported; with --trust it is."""
    path, mark = write(tmp_path, WAYS[way], list(WAYS).index(way))
    assert main(["check", str(path)]) == 0
    said = capsys.readouterr().out
    assert "names these programs" in said and f"own_{list(WAYS).index(way)}" in said
    assert not mark.exists()
    main(["check", "--trust", str(path)])
    assert mark.exists()


def test_faults_are_found_without_trust(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong with the file is told, and a module elsewhere is refused."""
    path, mark = write(tmp_path, 'function = "own_9:make"\nmodel = 3', 9)
    assert main(["check", str(path)]) == 1
    assert "did you mean 'models'" in capsys.readouterr().err and not mark.exists()
    path.write_text('dt = 1e-4\nsteps = 10\n[lpu.one]\nfunction = "subprocess:getoutput"\n')
    for more in ([], ["--trust"]):
        assert main(["check", *more, str(path)]) == 1
        assert "no module 'subprocess' beside" in capsys.readouterr().err


def test_an_experiment_without_programs_needs_no_trust(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Functions of this package are its own."""
    path, _ = write(tmp_path, 'circuit = "c.h5"', 8)
    assert main(["check", str(path)]) == 0
    assert "1 LPUs" in capsys.readouterr().out
