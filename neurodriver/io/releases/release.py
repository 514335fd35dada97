"""``Release``: what the columns of a published connectome mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SIGNS: Mapping[str, int] = {
    "acetylcholine": 1,
    "gaba": -1,
    "glutamate": -1,
    "dopamine": 1,
    "octopamine": 1,
    "serotonin": 1,
    "tyramine": 1,
    "histamine": -1,
}
"""Transmitter -> sign of a synapse.

GABA and glutamate inhibit, all others excite: Shiu et al. 2024, Nature 634:210-219,
doi:10.1038/s41586-024-07763-9. Histamine of photoreceptors inhibits: Hardie 1989, Nature
339:704-706, doi:10.1038/339704a0.
"""

SHORT: Mapping[str, str] = {
    "ach": "acetylcholine",
    "glut": "glutamate",
    "da": "dopamine",
    "oct": "octopamine",
    "ser": "serotonin",
    "5ht": "serotonin",
    "tyr": "tyramine",
    "his": "histamine",
}
"""Short name of a transmitter -> its name."""

UNKNOWN = ("", "unknown", "unclear", "none", "nan", "na")
"""What stands where a transmitter is not known."""

SIDES: Mapping[str, str] = {
    "l": "left",
    "r": "right",
    "m": "center",
    "c": "center",
    "midline": "center",
    "centre": "center",
}
"""Other names of sides."""

Names = tuple[str, ...]


@dataclass(frozen=True)
class Release:
    """What the columns of a connectome's tables mean.

    Attributes
    ----------
    name : str
    source, target : tuple of str
        Columns of the edges with the ids of their ends; the first one that is there.
    synapses : tuple of str
        Column of the edges with the number of synapses.
    id : tuple of str
        Column of the tables of neurons with the id; one that ends in ``*`` is a beginning.
    transmitter : tuple of str
        Column of a table of neurons, or else of the edges, with the transmitter.
    columns : mapping of str to tuple of str
        Node column of the circuit -> columns that it is made of: the first one with a value counts.
    signs : mapping of str to int
        Transmitter -> 1 or -1; see `SIGNS`.
    columns_from : str
        Where the names of the columns are published.
    cite : str
    licence : str
    """

    name: str
    source: Names
    target: Names
    synapses: Names
    id: Names
    transmitter: Names
    columns: Mapping[str, Names]
    signs: Mapping[str, int] = field(default_factory=lambda: SIGNS)
    columns_from: str = ""
    cite: str = ""
    licence: str = ""
