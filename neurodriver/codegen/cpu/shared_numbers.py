"""Numbers of a text that are equal for all components: they are computed once for each step.

``const real decay = step == 0 ? 0.5 : 1;`` follows from the step alone. Within the loop over
components such a choice would keep the compiler from using vectors.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.language import tree, used
from ...model.language.words import FUNCTIONS, MORE, STEP
from ..component import ComponentText

NAMED = tree.Name | tree.Element | tree.Call | tree.Path | tree.Item


def shared_numbers(component: ComponentText) -> list[str]:
    """Return the lines that compute them. The text of the component leaves them out from now on."""
    translator, part = component.translator, component.texts["update"]
    if not isinstance(part.tree, tree.Body):
        return []
    found = list(_found(component, part.tree))
    if not found:
        return []
    translator.begin(part.checked)
    lines = [line for one in found for line in translator.statement(one)]
    if any(STEP in used(one) for one in found):
        lines.insert(0, f"const int {STEP} = (int)nd_k; (void){STEP};")
    left_out = {id(one) for one in found}
    translator.writer = lambda node: [] if id(node) in left_out else None
    return [*lines, *(f"(void){one.name};" for one in found)]


def shared_names(component: ComponentText) -> set[str]:
    """Return the names of a text that are equal for all components, but for its own numbers."""
    spec, model = component.spec, component.model
    known = {*FUNCTIONS, *MORE, *component.translator.own, STEP, "dt_ms"}
    known |= {name for name in component.numbers if name in spec.uniform}
    if spec.place is not None:
        fields = spec.place.fields.items()
        known |= {name for name, (_, value) in fields if not value.values.shape}
    return known - {*model.states, *model.updates, *component.inputs.values()}


def is_shared(component: ComponentText, node: tree.Node, known: set[str]) -> bool:
    """Whether all that a part of a text reads is among known names, or is one pool of all."""
    places = component.translator.places
    for one in node.walk():
        pool = places.pool_of(one) if places and isinstance(one, tree.Path) else None
        if pool is not None and pool.sums is not None and pool.sums.groups.count == 1:
            continue
        if isinstance(one, NAMED) and one.name not in known:
            return False
    return True


def _found(component: ComponentText, body: tree.Body) -> Iterator[tree.Declaration]:
    """Yield constants of a text that read what all components share."""
    known = shared_names(component)
    for one in body.statements:
        if not isinstance(one, tree.Declaration) or not one.const or one.size is not None:
            continue
        if one.value is not None and is_shared(component, one.value, known):
            known.add(one.name)
            yield one
