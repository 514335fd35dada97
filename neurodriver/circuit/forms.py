"""Other forms in which files and graphs describe a circuit, and their conversion into ours.

In our form every node names its model in the attribute ``class``. `GraphForm` is the protocol of
another form; the table in ``neurodriver.adapters`` lists those that are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ..adapters import adapters
from .records import Records, no_collection


class GraphForm(Protocol):
    """Another form of node and edge records."""

    name: str
    """How messages call it."""

    def marks(self, node: Mapping[str, Any]) -> bool:
        """Whether the attributes of a node are those of this form."""

    def convert(self, records: Records) -> Records:
        """Return records in our form, which share the ``faults`` of the given ones.

        Raises
        ------
        CircuitError
            With all faults of the records and of their conversion.
        """

    def warning(self, records: Records) -> str:
        """Return what to tell a user whose circuit is converted each time it is read."""

    def report(self, records: Records, made: Records) -> list[str]:
        """Return lines about what became of the records, for ``neurodriver convert``."""


def form_of(records: Records) -> GraphForm | None:
    """Return the form of records; None for our own."""
    if any("class" in data for data in records.nodes):
        return None
    forms: tuple[GraphForm, ...] = adapters("graph form") if records.nodes else ()
    return next((form for form in forms if any(map(form.marks, records.nodes))), None)


def in_our_form(records: Records) -> Records:
    """Return the records, converted with a warning where they have another form."""
    form = form_of(records)
    if form is None:
        return records
    with no_collection():
        made = form.convert(records)
    made.faults.warn(form.warning(records))
    return made


def hint(node: Mapping[str, Any]) -> str:
    """Return what to tell of a node without ``class`` among others that have it."""
    forms: tuple[GraphForm, ...] = adapters("graph form")
    marked = next((form.name for form in forms if form.marks(node)), None)
    if marked is None:
        return "name its model"
    return f"its attributes are those of {marked}, and other nodes have 'class'"
