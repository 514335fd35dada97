"""The Modules of one rank: their steps, and their ports in the messages to and from others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..plan.passes.join import Imports
from .module import Module
from .routes import ValueBlock

Numbers = NDArray[np.int64]


@dataclass
class _Ports:
    """Some ports of a Module and the places of their values elsewhere."""

    module: Module
    numbers: Numbers
    place: Numbers
    steps: Numbers


class Host:
    """Runs Modules in lock step.

    Parameters
    ----------
    modules : mapping of id to Module
    outgoing, incoming : sequence of ValueBlock
        What they send, and what is sent to them.
    feeds : sequence of Imports
        Input ports; ``place`` counts through ``incoming``.

    Attributes
    ----------
    asking : str or None
        Id of the Module whose code runs; None when none does.

    Notes
    -----
    A value may be on its way for several steps (delays), so the last rows that came are kept. Row
    k of a Module is what its ``run_step`` writes in step k, row k of an LPU is there before step k.
    """

    def __init__(
        self,
        modules: Mapping[str, Module],
        outgoing: Sequence[ValueBlock],
        incoming: Sequence[ValueBlock],
        feeds: Sequence[Imports],
    ) -> None:
        self.asking: str | None = None
        self._modules = dict(modules)
        self._begun: list[str] = []
        self._sends = [self._ports_of(block) for block in outgoing]
        self._feeds = [
            _Ports(self._modules[feed.target], feed.in_port, feed.place, feed.steps)
            for feed in feeds
        ]
        late = np.repeat([b.of_modules for b in incoming], [len(b) for b in incoming])
        self._late = late.astype(np.int64)
        longest = max((int(feed.steps.max(initial=0)) for feed in self._feeds), default=0)
        self._rows = np.zeros((longest + 3, len(late)))
        self._places = np.arange(len(late))

    def _ports_of(self, block: ValueBlock) -> list[_Ports]:
        out = []
        for name in np.unique(block.lpus).tolist():
            mine = np.flatnonzero(block.lpus == name)
            out.append(_Ports(self._modules[name], block.ports[mine], mine, mine * 0))
        return out

    def begin(self, steps: int | None, views: Sequence[NDArray[Any]]) -> None:
        """Let the Modules get ready, and send what their ports hold then."""
        for name, module in self._modules.items():
            self.asking = name
            self._begun.append(name)
            module.max_steps = float("inf") if steps is None else steps
            module.pre_run()
        self._send(views)

    def step(self, step: int, views: Sequence[NDArray[Any]]) -> None:
        """Let the Modules do a step, and send what their ports hold then."""
        for name, module in self._modules.items():
            self.asking = name
            module.run_step()
        self._send(views)

    def _send(self, views: Sequence[NDArray[Any]]) -> None:
        for view, parts in zip(views, self._sends, strict=True):
            for part in parts:
                self.asking = part.module.id
                view[part.place] = part.module.read(part.numbers)
        self.asking = None

    def take(self, step: int, views: Sequence[NDArray[Any]]) -> None:
        """Give the Modules what others have sent at the end of a step; -1 before the first one."""
        depth = len(self._rows)
        if views:
            row = (step + 1 - self._late) % depth
            self._rows[row, self._places] = np.concatenate(views)
        for feed in self._feeds:
            row = step - feed.steps
            come = row >= 0
            if come.any():
                values = self._rows[row[come] % depth, feed.place[come]]
                feed.module.write(feed.numbers[come], values)
        for module in self._modules.values():
            module.steps = step + 1

    def close(self) -> None:
        """Let the Modules clean up that have begun; the first error is raised in the end."""
        failed: Exception | None = None
        begun, self._begun = self._begun, []
        for name in begun:
            try:
                self._modules[name].post_run()
            except Exception as error:
                self.asking = name if self.asking is None else self.asking
                failed = failed or error
        if failed is not None:
            raise failed
