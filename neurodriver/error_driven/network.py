"""Networks of layers and paths, as they are declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import ArrayLike

from neurodriver.arguments import (
    checked_arguments,
    keyed,
    optional,
    text,
    whole_number,
)
from neurodriver.circuit import AllToAll, OneToOne
from neurodriver.errors import CircuitError, near, quoted

from .layers import NetworkLayer, NetworkPath, check_driver, shape_of
from .neuron_text import BIN, BINS
from .pairs import SynapsePairs
from .patterns import PathPattern, connected_units
from .rules import Rules, classes_of, selected
from .scaling import activity_scale
from .settings import (
    LAYER_KINDS,
    PATH_KINDS,
    check_names,
    path_name,
    value_of,
)
from .striatum import named_modulators


class Network:
    """Layers and paths that learn from the difference between two phases of a trial.

    Parameters
    ----------
    minus, plus : int
        Length of the minus and the plus phase in cycles of 1 ms, multiples of 10; together at most
        200.
    seed : int
        Seed of the initial weights, of the initial target averages and of random patterns.
    interval : int
        Cycles without input before the minus phase of each trial; 0 by default, as in Axon
        (Context.ISICycles).

    Examples
    --------
    >>> net = Network(seed=1)
    >>> inp = net.layer("Input", "input", (5, 5), clamp=1.5)
    >>> hidden = net.layer("Hidden", "super", (10, 10))
    >>> out = net.layer("Output", "target", (5, 5))
    >>> path = net.connect(inp, hidden)
    >>> forward, back = net.connect_both(hidden, out)
    >>> net.set("path", lrate=0.06)
    """

    @checked_arguments(seed=whole_number, interval=whole_number)
    def __init__(self, minus: int = 150, plus: int = 50, seed: int = 0, interval: int = 0) -> None:
        self.minus, self.plus = _phases(minus, plus)
        self.seed, self.interval = seed, interval
        self.layers: dict[str, NetworkLayer] = {}
        self.paths: dict[str, NetworkPath] = {}
        self._rules = Rules()
        self.users: WeakSet[object] = WeakSet()

    def __repr__(self) -> str:
        units = sum(layer.count for layer in self.layers.values())
        synapses = sum(len(path.pairs) for path in self.paths.values())
        said = f"{len(self.layers)} layers, {units:,} units, {synapses:,} synapses"
        return f"<Network: {said}>"

    @property
    def cycles(self) -> int:
        """Cycles of both phases of a trial."""
        return self.minus + self.plus

    @checked_arguments(kind=text, modulators=optional(keyed))
    def layer(
        self,
        name: str,
        kind: str,
        shape: int | Iterable[int],
        driver: NetworkLayer | str | None = None,
        modulators: Mapping[str, str] | None = None,
        cls: str = "",
        **own: Any,
    ) -> NetworkLayer:
        """Add a layer.

        Parameters
        ----------
        name : str
        kind : {"input", "super", "target", "compare", "ct", "pulvinar", "matrix"}
            An input layer is clamped to its input in both phases. A super layer is hidden. A
            target layer is clamped to the target in the plus phase. A compare layer is never
            clamped; its target is used for statistics only. A ct layer is hidden, and gets context
            from the trial before. A pulvinar layer predicts the activity of its driver. A matrix
            layer belongs to the striatum.
        shape : int or sequence of int
            Number of units along each axis. The shape (py, px, y, x) means py times px sub-pools of
            y times x units. With ``pool_inhibits=True`` each sub-pool has its own inhibition.
        driver : NetworkLayer or str, optional
            Of a pulvinar layer: the layer that it predicts, with as many units.
        modulators : mapping of str to str, optional
            Of a matrix layer: ``"dopamine"``, ``"acetylcholine"`` or ``"reward"`` -> the name by
            which its level is given with a trial. By default the names are these.
        cls : str
            Classes of the layer, separated by blanks. `set` may select them.
        **own
            Parameters of this layer, which `set` does not change.

        Raises
        ------
        CircuitError
            For a name that is taken or has one of ``.#/`` or a blank, and for a kind, a shape or a
            parameter that is not allowed.
        """
        self._need_free(f"layer {name!r:.60}")
        if not isinstance(name, str) or not name or set(name) & set(".#/ "):
            raise CircuitError(f"layer: a name without '.', '#', '/' and blanks (got {name!r:.60})")
        if name in self.layers:
            raise CircuitError(f"layer {quoted(name)}: there is one of this name already")
        if kind not in LAYER_KINDS:
            among = ", ".join(LAYER_KINDS)
            raise CircuitError(
                f"layer {quoted(name)}: no kind {kind!r:.60}{near(str(kind), LAYER_KINDS)}; "
                f"there are {among}"
            )
        shaped = shape_of(name, shape)
        given = self._checked("layer", own, f"layer {quoted(name)}")
        drives = None if driver is None else self._layer(driver)
        check_driver(name, kind, shaped, drives)
        levels = named_modulators(name, kind, modulators, self.layers)
        classes, number = (
            classes_of(cls, self.paths.values(), f"layer {quoted(name)}"),
            len(self.layers),
        )
        made = NetworkLayer(name, kind, shaped, given, number, classes, drives, levels)
        self.layers[name] = made
        return made

    @checked_arguments(kind=text)
    def connect(
        self,
        sender: NetworkLayer | str,
        receiver: NetworkLayer | str,
        pattern: AllToAll | OneToOne | PathPattern | ArrayLike | None = None,
        kind: str = "forward",
        cls: str = "",
        **own: Any,
    ) -> NetworkPath:
        """Add a path.

        Parameters
        ----------
        sender, receiver : NetworkLayer or str
        pattern : AllToAll, OneToOne, PathPattern or (senders, receivers) bool, optional
            Which units are connected; by default all senders with all receivers.
        kind : {"forward", "back", "lateral", "inhib", "context", "maintenance", "striatal"}
            ``"inhib"`` inhibits, the others excite. ``"context"`` sends once in a trial, to a ct
            layer. ``"maintenance"`` excites a ct layer slowly. ``"striatal"`` excites a matrix
            layer, and dopamine teaches it.
        cls : str
            Classes of the path, separated by blanks. `set` may select them.
        **own
            Parameters of this path, which `set` does not change.

        Raises
        ------
        CircuitError
            For layers, patterns, kinds and parameters that do not fit.
        """
        low, high = self._layer(sender), self._layer(receiver)
        self._need_free(f"connect({low.name!r}, {high.name!r})")
        name = path_name(low.name, high.name, kind)
        where = f"path {quoted(name)}"
        if kind not in PATH_KINDS:
            among = ", ".join(PATH_KINDS)
            hint = near(str(kind), PATH_KINDS)
            raise CircuitError(f"{where}: no kind {kind!r:.60}{hint}; there are {among}")
        needs = {"context": "ct", "maintenance": "ct", "striatal": "matrix"}.get(kind, high.kind)
        if high.kind != needs:
            say = f"it needs a layer of kind {quoted(needs)} (got {quoted(high.kind)})"
            raise CircuitError(f"{where}: {say}")
        if name in self.paths:
            raise CircuitError(f"{where}: there is one between these layers already")
        if isinstance(pattern, PathPattern):
            pattern = pattern.of_path(self.seed, name, low is high)
        connected = connected_units(pattern, low.shape, high.shape, low is high, where)
        given = self._checked("path", own, where)
        classes, number = classes_of(cls, self.layers.values(), where), len(self.paths)
        pairs = SynapsePairs(connected)
        path = NetworkPath(low, high, kind, name, pairs, given, number, classes)
        self.paths[name] = path
        return path

    def connect_both(
        self,
        low: NetworkLayer | str,
        high: NetworkLayer | str,
        pattern: AllToAll | OneToOne | PathPattern | ArrayLike | None = None,
        cls: str = "",
    ) -> tuple[NetworkPath, NetworkPath]:
        """Add a forward path from the lower layer to the higher one, and a path back.

        The path back connects the same units, and begins with the same weights. Parameters are
        those of `connect`.
        """
        forward = self.connect(low, high, pattern, cls=cls)
        pairs = forward.pairs
        mirrored = np.zeros((pairs.receivers, pairs.senders), bool)
        mirrored[pairs.post, pairs.pre] = True
        return forward, self.connect(high, low, mirrored, "back", cls)

    def inhibit_as(self, layer: NetworkLayer | str, *others: NetworkLayer | str) -> None:
        """Let the inhibition of a layer be at least as strong as that of some other layers.

        The layer gets the strongest of its own inhibition and of theirs. Theirs does not change.
        """
        found, named = self._layer(layer), [self._layer(one) for one in others]
        self._need_free(f"inhibit_as({found.name!r})")
        if not named or found in named:
            got = ", ".join(one.name for one in named) or "none"
            raise CircuitError(f"inhibit_as({found.name!r}): other layers are needed (got {got})")
        found.inhibited_as += [one for one in named if one not in found.inhibited_as]

    def set(self, selector: str, **values: Any) -> None:
        """Set parameters of several layers or paths.

        Parameters
        ----------
        selector : str
            ``"layer"`` or ``"path"`` for all, ``".back"`` for a kind or a class, ``"#Output"`` for
            a name. If several calls set a parameter, the more specific selector counts, and of
            equal ones the last. A value that was given with a layer or a path itself is not
            changed.
        **values
            Parameters.

        Raises
        ------
        CircuitError
            For a selector that selects nothing, and for a parameter that is not allowed.
        """
        self._need_free(f"set({selector!r:.60})")
        what = selected(selector, self.layers, self.paths)
        self._rules.add(selector, self._checked(what, values, f"set({selector!r})"))

    def parameters(self, of: NetworkLayer | NetworkPath | str) -> dict[str, float | bool]:
        """Return all parameters of a layer or a path by name."""
        if isinstance(of, NetworkLayer | NetworkPath):
            what = "layer" if isinstance(of, NetworkLayer) else "path"
            return self._rules.resolved(what, of, of.own)
        for named in (self.layers, self.paths):
            if isinstance(of, str) and of in named:
                return self.parameters(named[of])
        hint = near(str(of), [*self.layers, *self.paths])
        raise CircuitError(f"no layer or path {of!r:.60}{hint}")

    def into(self, layer: NetworkLayer) -> list[NetworkPath]:
        """Return the paths into a layer."""
        return [path for path in self.paths.values() if path.receiver is layer]

    def scale(self, path: NetworkPath) -> float:
        """Return the factor by which all weights of a path are multiplied.

        It is ``abs`` times the share of ``rel`` among the paths into the receiver that increase
        the same conductance, divided by the expected number of active inputs; see `scaling`.
        """
        own = self.parameters(path)
        beside = [p for p in self.into(path.receiver) if p.conductance == path.conductance]
        total = sum(float(self.parameters(p)["rel"]) for p in beside)
        share = float(own["rel"]) / total if total > 0 else 0.0
        active = float(self.parameters(path.sender)["nominal"])
        pairs = path.pairs
        return float(own["abs"]) * share * activity_scale(active, pairs.senders, pairs.inputs)

    def bursts(self, layer: NetworkLayer) -> bool:
        """Whether other layers read the bursts of a layer."""
        sends = (path.sender is layer for path in self.paths.values() if path.kind == "context")
        return any(sends) or any(other.driver is layer for other in self.layers.values())

    def _need_free(self, what: str) -> None:
        """Raise CircuitError if a trainer has built the network."""
        if self.users:
            say = "a trainer has built the network, which would not change"
            do = "make the change before Trainer(network), or close the trainer"
            also = "Trainer.set changes parameters while it runs"
            raise CircuitError(f"{what}: {say}; {do}; {also}")

    def _layer(self, given: NetworkLayer | str) -> NetworkLayer:
        name = given.name if isinstance(given, NetworkLayer) else given
        if not isinstance(name, str) or self.layers.get(name) is None:
            hint = near(str(name), self.layers)
            raise CircuitError(f"no layer {name!r:.60}{hint} in this network")
        return self.layers[name]

    @staticmethod
    def _checked(what: str, given: dict[str, Any], where: str) -> dict[str, float | bool]:
        check_names(what, given, where)
        return {name: value_of(what, name, value, where) for name, value in given.items()}


def _phases(minus: int, plus: int) -> tuple[int, int]:
    """Return the lengths of both phases in cycles; raise CircuitError for other numbers."""
    for name, cycles in (("minus", minus), ("plus", plus)):
        whole = isinstance(cycles, int | np.integer) and not isinstance(cycles, bool)
        if not whole or cycles < BIN or cycles % BIN:
            raise CircuitError(f"{name}: must be a multiple of {BIN} cycles (got {cycles!r})")
    if minus + plus > BIN * BINS:
        most = f"a trial has at most {BIN * BINS} cycles"
        raise CircuitError(f"minus + plus: {most} (got {minus + plus})")
    return int(minus), int(plus)
