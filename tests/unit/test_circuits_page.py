"""The page on circuits runs as it is written, and its table of templates is complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from neurodriver.io.sonata_models import KNOWN, Template, TemplateChoice, as_template
from neurodriver.model.library import shipped

PAGE = Path(__file__).parents[2] / "docs" / "circuits.md"


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block of the page, one after the other."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("pint")
    pytest.importorskip("nir")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 10 and sum(block.count("assert") for block in blocks) == 8
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
    mine = scope["mine"]
    assert isinstance(mine, dict)
    for given in map(as_template, mine.values()):
        assert isinstance(given, Template) and given.model in shipped()


def test_templates_are_listed() -> None:
    """The page names each known template and its model."""
    text = PAGE.read_text(encoding="utf-8")
    for name, template in KNOWN.items():
        head = "virtual nodes" if name == "virtual" else f"`{name}`"
        options = template.templates if isinstance(template, TemplateChoice) else (template,)
        models = [option.model for option in options]
        assert f"| {head} | {models[0]}" in text
        assert {*models} <= {*shipped()}
