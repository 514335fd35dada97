"""Legacy graphs whose models are old classes, as a form that circuits are read from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...circuit.records import Records
from ..legacy.models import NEURONS
from .bases import BaseNeuron, BaseSynapse, imported


class BaseClassForm:
    """The legacy form, with classes that have been imported: they are not converted.

    A `neurodriver.circuit.forms.GraphForm`.
    """

    name = "the legacy form with classes of one's own"

    def marks(self, node: Mapping[str, Any]) -> bool:
        """Whether a node names a direct subclass of `BaseNeuron`, and no model of the library."""
        model = node.get("model")
        known = [one.__name__ for one in imported(BaseNeuron)]
        number = isinstance(model, int) and not isinstance(model, bool) and bool(known)
        return number or (model in known and model not in NEURONS)

    def convert(self, records: Records) -> Records:
        """Return records of the neurons, which bring their class."""
        from .graphs import converted

        return converted(records, imported(BaseNeuron), imported(BaseSynapse))

    def warning(self, records: Records) -> str:
        """Count neurons and synapses."""
        counts = f"{len(records.nodes):,} nodes and {len(records.edges):,} synapses"
        return f"{counts} are advanced step by step by classes of their own, unconverted"

    def report(self, records: Records, made: Records) -> list[str]:
        """Say that there is nothing to convert."""
        return [f"{len(records.nodes):,} nodes, {len(records.edges):,} edges, classes of their own"]
