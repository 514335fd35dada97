"""Random numbers of a tile, drawn before its components are updated: calls of ``tile_draws.h``.

What a model draws depends on nothing but the component and the step, so it need not be computed
where it stands in the text. Drawn for a whole tile it takes whole vectors, and what a block of
Philox gives beyond this step is kept in columns beside the components.
"""

from __future__ import annotations

import numpy as np

from ...model.text import block
from ...native.buffers import LANES, padded
from ...plan.arrays import Kind, zeros
from ..component import ComponentText
from ..translate import Draw
from .sums import SumText

_LOOP = "for (int nd_i = 0; nd_i < nd_m; ++nd_i)"


class TileDraws:
    """Writes what a tile's mathematics has drawn.

    Parameters
    ----------
    sums : list of SumText
        Of its accesses.
    """

    def __init__(self, component: ComponentText, sums: list[SumText]) -> None:
        self.component = component
        self.sums = sums
        model = component.model
        self.fixed = {*model.fixed_params(), *model.constants, "dt_ms"}
        self.known = frozenset(self.fixed | {s.symbol for s in sums})
        """Names that the mean of a Poisson number may consist of, to be drawn beforehand."""

    @property
    def draws(self) -> list[Draw]:
        """What the text that was written last has drawn."""
        return self.component.translator.drawn

    def head(self) -> list[str]:
        """Declare the columns, and the thresholds, which a thread keeps from call to call."""
        own, spec = self.component.arguments.own, self.component.spec
        count = padded(spec.count)
        lines = []
        for draw in self.draws:
            keys = [spec.key(Kind.RANDOM, f"{what} {draw.stream}") for what in ("words", "drawn")]
            words = own(zeros(keys[0], 4 * count, np.uint32), "unsigned int")
            drawn = own(zeros(keys[1], count // LANES, np.int64), "long long")
            lines.append(f"unsigned int *__restrict nd_words{draw.stream} = {words};")
            lines.append(f"long long *__restrict nd_drawn{draw.stream} = {drawn};")
            if draw.mean:
                lines.append(f"static thread_local nd_thresholds nd_t{draw.stream} = {{-1}};")
        return lines

    def tile(self) -> list[str]:
        """Return the lines that draw for the components of one tile."""
        return [line for draw in self.draws for line in self._one(draw)]

    def _one(self, draw: Draw) -> list[str]:
        count = self.component.count
        n = draw.stream
        shift, place = (1, "2 * (nd_k & 1)") if draw.kind == "uniform" else (2, "(nd_k & 3)")
        where = f"nd_words{n}, nd_drawn{n}, nd_t, nd_m, {count}"
        word = f"nd_words{n} + {place} * {count} + nd_t"
        lines = [
            f"nd_tile_blocks(nd_keys, nd_seed, nd_k >> {shift}, {n}, {where});",
            f"const unsigned int *__restrict nd_w{n} = {word};",
        ]
        if draw.kind == "uniform":
            lines.append(f"const unsigned int *__restrict nd_v{n} = nd_w{n} + {count};")
        elif draw.kind == "normal":
            lines += [f"float nd_z{n}[ND_TILE];", f"nd_tile_normal(nd_w{n}, nd_m, nd_z{n});"]
        elif draw.mean:
            lines += [f"real nd_mean{n}[ND_TILE], nd_n{n}[ND_TILE];", *self._mean(draw)]
            lines.append(f"nd_tile_poisson(nd_w{n}, nd_mean{n}, nd_m, &nd_t{n}, nd_n{n});")
        return lines

    def _mean(self, draw: Draw) -> list[str]:
        at = "nd_t + nd_i"
        given = [
            f"const real {s.symbol} = {s.direct(f'({at})', 'nd_i')};"
            for s in self.sums
            if s.symbol in draw.names
        ]
        store = f"nd_mean{draw.stream}[nd_i] = {draw.mean};"
        return ["ND_SIMD", *block(_LOOP, [*self.component.numbers_of(at), *given, store])]
