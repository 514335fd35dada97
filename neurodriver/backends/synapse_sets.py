"""``SynapseSets``: numbers of synapses beside those of a program, and texts that run over them.

The numbers are in the memory of a *place*: of the host, or of a GPU. There the texts run, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.synapse_texts import SynapseTexts
from .synapse_place import ALONE, SynapsePlace
from .synapse_tables import Addresses, Prepared, Reals, SynapseSet, SynapseTables


class SynapseSets:
    """Sets of synapses in a place.

    Parameters
    ----------
    copies : int
        Of the simulation.
    targets : int
        Targets of all sets, for what the caller gives.
    """

    def __init__(
        self,
        place: SynapsePlace,
        texts: SynapseTexts,
        sets: Mapping[str, SynapseSet],
        copies: int,
        targets: int,
    ) -> None:
        self.place, self.texts = place, texts
        self._tables = SynapseTables(place, texts, sets, copies, targets)
        self._reaches: bool | None = None

    # -- values ---------------------------------------------------------------------------------

    def read(self, name: str, number: str) -> Reals:
        """Return a number of each synapse of a set, (synapses,), or (copies, synapses)."""
        self.place.wait()
        kind = "own" if number in self.texts.own else "kept"
        values: Reals = self._tables.arrays[name][f"{kind} {number}"].read()
        return values

    def write(self, name: str, number: str, values: Reals) -> None:
        """Set a number of each synapse of a set; one that they did not have is added."""
        kind, arrays = "own" if number in self.texts.own else "kept", self._tables.arrays[name]
        given = np.asarray(values, np.float64)
        if kind == "own" and f"own {number}" not in arrays:
            arrays[f"own {number}"] = self.place.store(given)
            self._tables.forget()
            return
        arrays[f"{kind} {number}"].write(given)

    def set_number(self, name: str, number: str, value: float) -> None:
        """Set a number that all synapses of a set have in common."""
        stored = self._tables.arrays[name]["numbers"]
        numbers = stored.read()
        numbers[self.texts.numbers.index(number)] = value
        stored.write(numbers)

    @property
    def counts(self) -> NDArray[np.int64]:
        """What texts have added to all synapses, in multiples of `UNIT`; set after each other."""
        self.place.wait()
        return self._tables.counts.read()

    @counts.setter
    def counts(self, values: NDArray[np.int64]) -> None:
        self._tables.counts.write(values)
        self._mark_all()

    def _mark_all(self) -> None:
        """Let texts look at the counts of all rows: others have set them."""
        self._tables.marks.write(np.ones(self._tables.marks.nbytes // 4, np.int32))

    def reaches(self, communicator: Any) -> bool:
        """Whether the GPUs of all ranks reach the memory of each other.

        All ranks call it together.
        """
        if self._reaches is None:
            ranks, own = communicator.Get_size(), communicator.Get_rank()
            rows, synapses = self._tables.marks.nbytes // 4, self._tables.counts.nbytes // 8
            offer = self.place.offer(rows, synapses, ranks)
            able = self.place.reach(communicator.allgather(offer), own)
            self._reaches = all(communicator.allgather(able))
        return self._reaches

    # -- texts ----------------------------------------------------------------------------------

    def bind(self, states: Addresses, sent: Addresses, places: Mapping[str, Any]) -> None:
        """Say where the simulation has what texts read and send; see `SynapseTables.bind`."""
        self._tables.bind(states, sent, places)

    def prepare(self, texts: Mapping[str, str]) -> Prepared:
        """Return the tables of a run; they are made once."""
        return self._tables.prepare(texts)

    def run(self, texts: Mapping[str, str], given: Mapping[str, Reals], share: int = ALONE) -> None:
        """Run a text for each of some sets, after the greatest values that they read are found.

        Parameters
        ----------
        texts : mapping of str to str
            Name of a set -> name of its text.
        given : mapping of str to array
            Numbers of targets that the texts read, (targets,) or (copies, targets).
        share : {ALONE, PACKS, ADDS}
            How the run takes part in adding up the counts of ranks that reach each other, see
            `SynapsePlace.run`.
        """
        if not texts:
            return
        of_copies = any(self._tables.facts(text).of_copies for text in texts.values())
        for name, values in given.items():
            if of_copies or values.ndim > 1:
                self._tables.given[name].write(values)
            else:  # the texts run once, and read what is given for the first copy
                self._tables.given[name].write_first(values)
        one = self._tables.prepare(texts)
        if one.units is not None:
            self.place.find_greatest(one.units, one.unit_count)
        self.place.run(one.sets, one.begin, len(texts), one.work, one.light, share)

    def close(self) -> None:
        """Give the memory back."""
        self.place.close()
