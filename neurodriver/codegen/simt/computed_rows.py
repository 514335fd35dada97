"""Connections that a GPU computes when their source spikes -> CUDA text.

Candidate p belongs to source p / box. The rest is a number along each axis, that of the last axis
counts fastest. Tables say which target this is along the axis, and how far. A candidate that is no
connection adds 0.
"""

from __future__ import annotations

from ...plan.spikes.computed_rows import ComputedThere
from ...plan.unit import KernelSpec
from ..kernel import Arguments


class ComputedConnections:
    """Writes where the connections of a delivery are.

    Parameters
    ----------
    arguments : Arguments
        Get what is read.
    spec : KernelSpec
        Of the targets.
    part : str
        Name of the plan.
    """

    def __init__(
        self, gather: ComputedThere, arguments: Arguments, spec: KernelSpec, part: str
    ) -> None:
        self.gather, self.arguments = gather, arguments
        self.spec, self.part = spec, part

    def pointer(self, name: str, kind: str) -> str:
        """Return the address of an array."""
        return self.arguments.pointer(self.spec.connection(self.part, name), f"const {kind}")

    def of_source(self) -> list[str]:
        """Return the lines of ``outgoing``."""
        n = self.gather.limits
        own = f"nd_source - {n['begin_of_sources']}"
        return [
            f"const long long nd_own = {own};",
            f"const int nd_box = nd_own >= 0 && nd_own < {n['own']} ? {n['box']} : 0;",
            f"const int nd_soon = ND_WINDOW || !{n['soon']} ? 0 : nd_box;",
            f"return {{nd_own * {n['box']}, nd_soon, nd_box - nd_soon, 1, 0}};",
        ]

    def members(self) -> dict[str, list[str]]:
        """Return ``find``, which all others ask."""
        axes, gather = self.gather.axes, self.gather
        box = gather.limits["box"]
        kind = "unsigned" if gather.limits["own"] * box < 1 << 32 else "unsigned long long"
        lines = [
            f"const unsigned nd_s = (unsigned)(({kind})nd_p / {box}u);",
            f"unsigned nd_e = (unsigned)nd_p - nd_s * {box}u;",
            "unsigned nd_i = nd_s;",
            "long long nd_t = 0;",
            "bool nd_there = true;",
        ]
        strides, size = [], 1
        for axis in reversed(axes):
            strides.append(size)
            size *= axis.targets
        for place, axis in reversed([*enumerate(axes)]):
            most = len(gather.arrays[f"to{place}"]) // axis.sources
            at = f"nd_i % {axis.sources}u * {most}u + nd_e % {most}u"
            lines += [
                f"const unsigned nd_at_{place} = {at};",
                f"nd_i /= {axis.sources}u, nd_e /= {most}u;",
            ]
        lines.append("nd_d2 = 0;")
        for place, stride in enumerate(reversed(strides)):
            to, way = self.pointer(f"to{place}", "int"), self.pointer(f"way{place}", "double")
            lines += [
                f"const int nd_to_{place} = __ldg({to} + nd_at_{place});",
                f"nd_way[{place}] = __ldg({way} + nd_at_{place});",
                f"nd_there = nd_there && nd_to_{place} >= 0;",
                f"nd_t += {stride}ll * (nd_to_{place} < 0 ? 0 : nd_to_{place});",
                f"nd_d2 = nd_d2 + nd_way[{place}] * nd_way[{place}];",
            ]
        if gather.squared < float("inf"):
            lines.append(f"nd_there = nd_there && nd_d2 <= {gather.squared!r};")
        if gather.self_at is not None:
            lines.append(f"nd_there = nd_there && nd_t != (long long)nd_s + {gather.self_at};")
        lines.append("return nd_there ? (int)nd_t : -1 - (int)nd_t;")
        head = f"int find(long long nd_p, double &nd_d2, double (&nd_way)[{max(len(axes), 1)}])"
        return {head: lines}

    def _found(self, text: str) -> list[str]:
        """Return the lines that find candidate ``nd_p`` and compute something from the distance."""
        axes = self.gather.axes
        names = [f"const double d{axis.name} = nd_way[{i}];" for i, axis in enumerate(axes)]
        names += [f"(void)d{axis.name};" for axis in axes]
        return [
            f"double d2, nd_way[{max(len(axes), 1)}];",
            "const int nd_t = find(nd_p, d2, nd_way);",
            *names,
            "const double d = nd_sqrt(d2);",
            "(void)d;",
            f"const double nd_x = {text};",
        ]

    def code(self) -> list[str]:
        """Return the lines of ``code``: the slot, also of what is no connection."""
        n, least = self.gather.limits, self.gather.latencies[0]
        steps = f"nd_fmax(nd_rint(nd_fmin(nd_x / {self.gather.dt!r}, 9007199254740992.0)), 1.0)"
        return [
            *self._found(self.gather.texts[1]),
            f"const int nd_steps = nd_t < 0 ? {least} : (int){steps};",
            f"const int nd_target = {n['first']} + (nd_t < 0 ? -1 - nd_t : nd_t);",
            f"return (unsigned)((nd_steps - 1) * {n['ahead']} + nd_target);",
        ]

    def multiple(self) -> list[str]:
        """Return the lines of ``multiple``."""
        unit = f"__ldg({self.pointer('per_unit', 'double')} + {self.gather.limits['first']} + nd_t)"
        sign = "*" if self.gather.limits["powers"] else "/"
        return [
            "(void)nd_q;",
            *self._found(self.gather.texts[0]),
            "if (nd_t < 0) return 0;",
            f"return (int)nd_rint(nd_x {sign} {unit});",
        ]

    def functions(self) -> dict[str, list[str]]:
        """Return the member functions: heads and lines."""
        return {
            **self.members(),
            "nd_outgoing outgoing(long long nd_source)": self.of_source(),
            "unsigned code(long long nd_p)": self.code(),
            "int multiple(long long nd_p, unsigned nd_q)": self.multiple(),
        }
