"""Random numbers of the components that a thread keeps, as calls of ``thread_draws.cuh``.

What a model draws depends on the component and the step alone. So a thread draws before the
mathematics, and keeps what a block of Philox gives beyond this step, and for a Poisson number whose
mean does not change what its words are compared with. Where threads advance other components in
turn, a warp keeps the latter for the mean that it had last.
"""

from __future__ import annotations

from ..component import ComponentText
from ..translate import Draw
from .thread_events import each

KEEPS = "nd_draws_kept"
"""Whether a thread has registers for what is kept, as text."""


class ThreadDraws:
    """Writes what the mathematics of one component has drawn."""

    def __init__(self, component: ComponentText) -> None:
        self.component = component
        model = component.model
        known = frozenset({*model.fixed_params(), *model.constants, "dt_ms"})
        component.translator.declared_before = known

    @property
    def draws(self) -> list[Draw]:
        """What the text that was written last has drawn."""
        return self.component.translator.drawn

    def members(self) -> list[str]:
        """Declare what a thread keeps."""
        lines = []
        for draw in self.draws:
            shift = 1 if draw.kind == "uniform" else 2
            lines.append(f"nd_words<{KEEPS}, {shift}> nd_d{draw.stream}[ND_OWN];")
            if draw.mean:
                lines.append(f"nd_counts<{KEEPS}> nd_m{draw.stream}[ND_OWN];")
        return lines

    def load(self) -> list[str]:
        """Fetch what is kept of component ``nd_i``, whose numbers have their names."""
        lines = [f"nd_d{d.stream}[nd_i].load({self._where(d)});" for d in self.draws]
        means = {d.stream: f"(double)(real)({d.mean})" for d in self.draws if d.mean}
        return lines + [f"nd_m{n}[nd_i].load({mean});" for n, mean in means.items()]

    def arrays(self) -> list[str]:
        """Declare what is drawn in a step."""
        kinds = {"uniform": "unsigned nd_w{0}[ND_OWN], nd_v{0}[ND_OWN];",
                 "normal": "float nd_z{0}[ND_OWN];",
                 "poisson": "unsigned nd_w{0}[ND_OWN];"}  # fmt: skip
        counts = "real nd_n{0}[ND_OWN], nd_e{0}[ND_OWN]; unsigned nd_w{0}[ND_OWN];"
        return [(kinds[d.kind] if not d.mean else counts).format(d.stream) for d in self.draws]

    def lines(self, numbers: list[str]) -> list[str]:
        """Draw for all components of the thread; ``numbers`` gives those of one their names.

        Poisson numbers whose means do not change are found together.
        """
        streams = [d.stream for d in self.draws if d.mean]
        counts = [
            f"nd_count_all<{which}>(nd_m{n}, nd_w{n}, nd_e{n}, nd_n{n});"
            for which, n in enumerate(streams)
        ]
        return [*each([*numbers, *self._step()]), *counts]

    def _step(self) -> list[str]:
        """Draw for component ``nd_i``, whose numbers have their names."""
        lines = []
        for draw in self.draws:
            n = draw.stream
            words = f"nd_d{n}[nd_i]"
            word = f"{words}.word(nd_k)"
            lines.append(f"{words}.next({self._where(draw)});")
            if draw.kind == "uniform":
                lines.append(f"nd_w{n}[nd_i] = {words}.high(nd_k);")
                lines.append(f"nd_v{n}[nd_i] = {words}.low(nd_k);")
            elif draw.kind == "normal":
                lines.append(f"nd_z{n}[nd_i] = nd_quantile({word});")
            else:
                lines.append(f"nd_w{n}[nd_i] = {word};")
                lines += [f"nd_e{n}[nd_i] = (real)({draw.mean});"] if draw.mean else []
        return lines

    def _where(self, draw: Draw) -> str:
        return f"nd_key, nd_seed, nd_k, {draw.stream}"
