"""The list of examples that run on a GPU has all of them."""

from __future__ import annotations

from example_programs import CIRCUITS, ELSEWHERE, EXAMPLES, PROGRAMS


def test_no_example_is_forgotten() -> None:
    """Each script, experiment and circuit runs here."""
    shipped = [*EXAMPLES.rglob("*.py"), *EXAMPLES.rglob("*.toml")]
    names = {str(path.relative_to(EXAMPLES)) for path in shipped}
    assert names | {path.name for path in CIRCUITS.iterdir()} == PROGRAMS.keys() | ELSEWHERE
