"""What a rule of plasticity declares, as text."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

from .plasticity import Plasticity
from .synapse_traces import taus
from .traces import Doses, Trace

Rule = type[Plasticity]


def rule_summary(rule: Rule) -> str:
    """Return the first line of a rule's documentation."""
    return (inspect.getdoc(rule) or "").split("\n")[0].replace("``", "`")


def rule_page(rule: Rule) -> list[str]:
    """Return everything that is declared about one rule."""
    lines = [rule.__name__, "", inspect.getdoc(rule) or "", "", f"source: {rule.reference}"]
    lines += ["parameters", *_parameters(rule)]
    decaying: dict[str, Mapping[str, Trace] | Mapping[str, Doses]] = {
        "traces of the source": rule.pre,
        "traces of the target": rule.post,
        "modulators": rule.doses(),
    }
    for title, declared in decaying.items():
        if declared:
            lines += [title, *(_decaying(name, one) for name, one in declared.items())]
    for name, value in rule.levels().items():
        lines.append(f"modulator {name}: '{value.variable}' of a component {value.doc}".rstrip())
    for name, variable in rule.of_targets.items():
        lines.append(f"modulator {name}: '{variable}' of each target")
    if rule.synapse:
        lines.append("numbers of each synapse beside weight")
    for name, state in rule.synapse.items():
        tau = taus(rule.synapse).get(name)
        course = f"decays with {tau}" if tau else f"starts at {state.initial}"
        lines.append(f"  {name} [{state.unit}] {state.doc}; {course}")
    lines += ["mathematics", *[f"  {name} = {text}" for name, text in rule.constants.items()]]
    if rule.bounds is not None:
        lines.append("  clip(x): x between {} and {}".format(*rule.bounds))
    for place, _ in rule.texts():
        attribute, _, key = place.partition("['")
        written = getattr(rule, attribute)
        text = written[key.removesuffix("']")] if key else written
        lines += [f"  {place}:", *(f"    {line.strip()}" for line in text.strip().splitlines())]
    order = f"{rule.first} first, {rule.same_step}"
    return [*lines, f"two events of one step: {order}"]


def _parameters(rule: Rule) -> Iterator[str]:
    for name, given in rule.params.items():
        default = "required" if given.default is None else f"default {given.default:g}"
        yield f"  {name} [{given.unit}] {given.doc}; {given.allowed()}; {default}"


def _decaying(name: str, one: Trace | Doses) -> str:
    how = "set to" if isinstance(one, Trace) and one.nearest else "jumps by"
    jump = one.jump if isinstance(one.jump, str) else f"{one.jump:g}"
    return f"  {name} {one.doc}; {how} {jump}, decays with {one.tau}"
