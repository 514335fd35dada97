"""``neurodriver rules``: the rules of plasticity."""

from __future__ import annotations

import re
from typing import Any

import click

from ..errors import ModelError, near
from ..model.rule_page import Rule, rule_page, rule_summary
from . import options
from .models import DOI, markdown_table

HEADS = ("rule", "what it is", "parameters", "source")


@click.command("rules")
@click.argument("name", required=False)
@click.option("--markdown", is_flag=True, help="Print a table of all rules as Markdown.")
@options.own_models
def command(**given: Any) -> int:
    """List the rules of plasticity, or tell all about the rule NAME."""
    from ..model.library import rules

    known = rules(given["model_files"])
    name = given["name"]
    if name is None:
        width = max(map(len, known), default=0)
        plain = [f"{one:<{width}} {rule_summary(rule)}" for one, rule in known.items()]
        for line in table(known) if given["markdown"] else plain:
            click.echo(line)
        return 0
    if name not in known:
        raise ModelError(f"unknown rule '{name}'{near(name, known)}; `neurodriver rules` lists all")
    for line in rule_page(known[name]):
        click.echo(line)
    return 0


def table(known: dict[str, Rule]) -> list[str]:
    """Return the rules as a table in Markdown."""
    rows = []
    for name, rule in known.items():
        parameters = ", ".join(f"`{one}`" for one in rule.params)
        links = [f"[{doi}](https://doi.org/{doi})" for doi in re.findall(DOI, rule.reference)]
        rows.append((f"`{name}`", rule_summary(rule), parameters, ", ".join(links)))
    return markdown_table(HEADS, rows)
