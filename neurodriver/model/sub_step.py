"""One sub-step of a model in NumPy, without compiling it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .component import NDComponent
from .language import tree
from .language.evaluate import Column, Columns, Evaluator
from .language.words import STEP
from .texts import texts_of


class SubStep:
    """Computes the mathematics of a model, one value for each component.

    Parameters
    ----------
    model : NDComponent subclass
        With texts; `NotReadError` is raised where they use what the evaluator does not know.
    """

    def __init__(self, model: type[NDComponent]) -> None:
        self.model, self.texts = model, texts_of(model)
        self.evaluator = Evaluator(self.texts.functions)

    def names_after(
        self,
        states: Mapping[str, Column],
        params: Mapping[str, Column],
        dt: float,
        inputs: Mapping[str, Column] | None = None,
        substep: int = 0,
    ) -> Columns:
        """Return the values of all names after a sub-step, each (n,) or ().

        Parameters
        ----------
        states, params : mapping of str to (n,) float64
        dt : float
            Step in seconds; the model's number of sub-steps follows from it.
        inputs : mapping of str to (n,) float64, optional
            What reaches each access, by its name; 0 by default.
        substep : int
            Number of the sub-step within its step.
        """
        model, substeps = self.model, self.model.substeps(dt)
        count = max(np.size(values) for values in states.values())
        names: Columns = {name: np.asarray(values) for name, values in params.items()}
        names["dt_ms"] = np.full(count, dt * 1000.0 / substeps)
        names["substep"] = np.full(count, float(substep))
        names["substeps"] = np.full(count, substeps)
        names[STEP] = np.zeros(count)
        for name in model.constants:
            self._value(f"constants['{name}']", name, names)
        for access in model.accesses:
            given = (inputs or {}).get(access.name, 0.0)
            names[model.input_symbol(access)] = np.broadcast_to(np.asarray(given, float), (count,))
        names.update(states)
        for name in model.updates:
            if name not in model.states:
                names[name] = np.zeros(count)
        for name in model.terms:
            self._value(f"terms['{name}']", name, names)
        body = self.texts["update"].tree
        assert isinstance(body, tree.Body)
        self.evaluator.run(body, names, np.ones(count, dtype=bool))
        return names

    def _value(self, part: str, name: str, names: Columns) -> None:
        node = self.texts[part].tree
        assert isinstance(node, tree.Expression)
        names[name] = self.evaluator.value(node, names)
