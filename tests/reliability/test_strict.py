"""With ``--strict`` no command ends well after a warning, and none leaves a file."""

from __future__ import annotations

from pathlib import Path

import h5py
import pytest
import seeds

from neurodriver.__main__ import main


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return good files, a circuit with an attribute that nothing uses, and an input with gaps."""
    folder = tmp_path_factory.mktemp("strict")
    out = seeds.make(folder)
    text = out["gexf"].read_text()
    out["odd"] = folder / "odd.gexf"
    out["odd"].write_text(text.replace("<graph ", '<graph idtype="string" unheard="of" ', 1))
    out["gaps"] = folder / "gaps.h5"
    with h5py.File(out["gaps"], "w") as file:
        file["I/uids"] = [b"a", b"b"]
        file.create_dataset("I/data", (40, 2), "f8", chunks=(8, 2))[:8] = 1.0
    return out


RUN = ("--dt", "1e-4", "--duration", "0.004")


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (["check", "odd"], "unheard"),
        (["convert", "odd", "NEW.h5"], "unheard"),
        (["run", "odd", *RUN, "-o", "NEW.h5"], "unheard"),
        (["run", "gexf", *RUN, "-i", "gaps", "-o", "NEW.h5"], "never written"),
    ],
)
def test_a_warning_is_an_error(
    command: list[str],
    word: str,
    files: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The same command warns and ends well without ``--strict``."""
    new = tmp_path / "new.h5"
    given = [str(new if one == "NEW.h5" else files.get(one, one)) for one in command]
    assert main(given) == 0
    said = capsys.readouterr().err
    assert word in said and "warning" in said.lower()
    assert new.exists() == ("NEW.h5" in command)
    new.unlink(missing_ok=True)
    assert main([*given, "--strict"]) == 1
    said = capsys.readouterr().err
    assert word in said and "error: " in said
    assert not new.exists()
