"""``RankBorder``: how the circuit of a rank is connected with those of other ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from .. import settings
from ..backends.base import Backend
from ..circuit.share import Share
from ..mpi import World
from ..plan.passes.join import Joined
from .exchange import Exchange
from .hosting import Host
from .module import Module
from .peer_exchange import PeerExchange
from .routes import Routes, ValueBlock
from .window import Timing, variables_from


@dataclass
class RankBorder:
    """Makes the exchange of a simulation."""

    world: World
    routes: Routes
    joined: Joined
    timing: Timing
    gates: bool
    modules: Mapping[str, Module] = field(default_factory=dict)
    peers: bool = False  # whether kernels write into each other's memory
    exported: set[str] = field(init=False)
    depth: Mapping[str, Callable[[int], int]] = field(init=False)
    window: int = field(init=False)

    def __post_init__(self) -> None:
        self.exported = {b.variable for b in self.routes.outgoing if not b.of_modules}
        read = variables_from(self.joined)
        self.depth = dict.fromkeys(sorted(self.exported | read), self.timing.depth)
        self.window = self.timing.window

    def open(self, backend: Backend) -> Exchange:
        """Return buffers and requests."""
        routes, host = self.routes, None
        if self.modules:
            sends = [b for b in routes.outgoing if b.of_modules]
            takes = [b for b in routes.incoming if b.to_modules]
            host = Host(self.modules, sends, takes, routes.feeds)
        parts = self.world, routes, self.joined
        if self.peers:
            return PeerExchange(*parts, backend, self.timing)
        return Exchange(*parts, backend, self.timing, host)


def border_of(share: Share, world: World, timing: Timing, gates: bool, lists: bool) -> RankBorder:
    """Return where the circuit of a part goes on in the others; ``lists``: spikes go as lists."""
    routes, listed = Routes(), share.events if lists and not settings.validates() else ()
    for one in share.incoming:
        lpus = np.full(len(one.sources), f"part {one.source}")
        block = ValueBlock(one.source, one.variable, lpus, one.sources)
        routes.incoming.append(replace(block, events=one.variable in listed))
    for one, components in share.outgoing:
        lpus = np.full(len(one.sources), f"part {share.part}")
        block = ValueBlock(one.target, one.variable, lpus, one.sources)
        events = one.variable in listed
        routes.outgoing.append(replace(block, components=components, events=events))
    joined = Joined(share.circuit, {}, {}, [], share.imports)
    return RankBorder(world, routes, joined, timing, gates)
