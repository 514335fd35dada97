"""How a circuit becomes another one: methods of `Circuit`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike

from ..arguments import checked_arguments, keyed, optional, text
from ..quantities import number_of_seconds
from .builders import BUILDERS
from .uids import Who

if TYPE_CHECKING:
    from .circuit import Circuit


class CircuitChanges:
    """Base of `Circuit`: circuits that differ from it in their stimuli, connections or numbers.

    The circuit itself never changes.
    """

    @checked_arguments(receptor=optional(text), delay=optional(number_of_seconds), name=text)
    def stimulate(
        self,
        who: Who,
        rate: ArrayLike,
        weight: ArrayLike | None = None,
        receptor: str | None = None,
        delay: float | None = None,
        name: str = "stimulus",
    ) -> Circuit:
        """Return the circuit with a Poisson source for each of some components.

        An event of the source is meant to make a resting cell fire. It reaches a receptor of
        weighted spikes, with a weight that suffices; a receptor without weights; or the current
        ``I``, as a pulse of 1 ms.

        Parameters
        ----------
        rate : float or (n,) array
            Events a second, Hz.
        weight : float or (n,) array, optional
            Of an event, in the unit of the receptor; or the current of a pulse. By default the
            strongest that makes a resting cell fire once, up to 10 times what it needs.
        receptor : str, optional
            By default the one through which a resting cell fires first.
        delay : float, optional
            Seconds from the event to its arrival; by default the shortest delay of the circuit's
            spikes, so that no connection is shorter than others.
        name : str
            The sources are hidden components, ``<name>/<uid>``. Their ``rate`` (Hz) can be injected
            and their ``spike_state`` recorded under these uids.

        Raises
        ------
        CircuitError
            With all faults: components that no event can make fire, unknown ones, names that are
            taken, numbers that do not fit.

        Examples
        --------
        >>> excited = brain.stimulate(brain.select(type="Gr5a"), rate=100.0)  # doctest: +SKIP
        """
        return BUILDERS["stimulate"](self, who, rate, weight, receptor, delay, name)

    @checked_arguments(which=text)
    def silence(
        self, who: Who, which: Literal["outgoing", "incoming", "both"] = "outgoing"
    ) -> Circuit:
        """Return the circuit without the connections from some components, or into them.

        Parameters
        ----------
        which : {"outgoing", "incoming", "both"}
            Without outgoing connections the components still fire, and nobody hears them.

        Raises
        ------
        CircuitError
            For unknown components, and where a model reads cells by their place.

        Examples
        --------
        >>> silenced = brain.silence(brain.select(type="G2N-1"))  # doctest: +SKIP
        """
        return BUILDERS["silence"](self, who, which)

    @checked_arguments(name=optional(text), params=optional(keyed))
    def copy(
        self,
        name: str | None = None,
        params: Mapping[Any, ArrayLike] | None = None,
        weight_scale: float = 1.0,
    ) -> Circuit:
        """Return a copy, in which some numbers may differ.

        Parameters
        ----------
        name : str, optional
            Name used in messages.
        params : mapping, optional
            Parameter, or (who, parameter) -> a number, or one for each of the components. ``who``
            is a population, a selection, the name of a population or a component, or a tuple of
            uids. Without it they are all that have the parameter.
        weight_scale : float
            Factor of all weights.

        Raises
        ------
        CircuitError
            With all faults.

        Examples
        --------
        >>> cold = brain.copy(params={"tau": 8.0}, weight_scale=0.8)  # doctest: +SKIP
        """
        return BUILDERS["copy"](self, name, params or {}, weight_scale)
