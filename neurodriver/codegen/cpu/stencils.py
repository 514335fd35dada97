"""Delivery of spikes along stencils, on a CPU -> C++ text; what it does is in ``stencils.h``."""

from __future__ import annotations

from ...model.text import block
from ...plan.arrays import Key, Kind, ReceptorOwner
from ...plan.spikes.stencils import EXACT
from ...plan.sums.gather import Gather, stencil_part
from .fanout import C_TYPES, FanoutText
from .spike_search import each_spike

NUMBERS = 5
"""Numbers of a block of sources."""


def stencil_lines(main: FanoutText) -> list[str]:
    """Return the lines that deliver the spikes that are due at step ``nd_k``.

    Parameters
    ----------
    main : FanoutText
        Of the access whose slots take the weights.
    """
    plans = enumerate(main.gather.stencils)
    return [line for number, plan in plans for line in _deliver(main, plan, number)]


def _compute(main: FanoutText, plan: Gather, owner: ReceptorOwner) -> list[str]:
    """Return the lines that deliver spikes whose connections are computed."""
    name, a, spec = main.access.name, main.component.arguments, main.component.spec
    address = a.pointer(plan.key(owner, "computed"), "const long long")
    blocks = (
        a.pointer(plan.key(owner, "block"), "const long long"),
        NUMBERS,
        a.integer(Key(owner, Kind.SIZE, "blocks")),
    )
    types = "const void *, long long, long long, long long, long long, long long, long long, void *"
    dirty = f"nd_dirty_{name}" if main.marks_dirty else "(unsigned char *)0"
    given = f"nd_begin, nd_end, nd_now_{name}, sizeof(nd_slot_{name}), nd_slots_{name}, {dirty}"
    call = f"nd_send((const void *)nd_computed[1], {{source}}, {{count}}, {given});"
    lines = [
        *main.slots_alone(),
        f"const long long *const nd_computed = {address};",
        f"typedef void (*nd_sender)({types}, unsigned char *);",
        "const nd_sender nd_send = (nd_sender)nd_computed[0];",
        *each_spike(spec, a, main.access.variable, blocks, call),
    ]
    return block("", lines)


def _deliver(main: FanoutText, plan: Gather, number: int) -> list[str]:
    name, a, spec = main.access.name, main.component.arguments, main.component.spec
    owner = ReceptorOwner(spec.number, stencil_part(name, number))
    if "computed" in plan.arrays:
        return _compute(main, plan, owner)

    def pointer(array: str, kind: str) -> str:
        return a.pointer(plan.key(owner, array), f"const {kind}")

    def size(what: str) -> str:
        return a.integer(Key(owner, Kind.SIZE, what))

    each = "multiple" in plan.arrays
    kind = C_TYPES[plan.arrays["multiple"].dtype.name] if each else "int"
    given = {
        "slots": f"nd_slots_{name} + nd_now_{name}",
        "stencil": pointer("stencil", "int"),
        "home": pointer("home", "int"),
        "begin": pointer("begin", "long long"),
        "code": pointer("code", "int"),
        "low": "nd_begin",
        "high": "nd_end",
        "sources": size("sources"),
    }
    if each:
        given["multiple"] = pointer("multiple", kind)
    else:
        given["all"] = f"(int){a.scalar(plan.key(owner, 'weight'))}"
    if main.marks_dirty:
        given["dirty"] = f"(nd_dirty_byte *)(nd_dirty_{name} + nd_now_{name} / ND_LANES)"
    odd = "exact" in plan.arrays
    given |= {name: pointer(name, "double") for name in EXACT if odd}
    masked = "cell" in plan.arrays
    given |= {name: pointer(name, "int") for name in ("cell", "point") if masked}
    flags = (str(flag).lower() for flag in (each, main.marks_dirty, odd, masked))
    blocks = pointer("block", "long long"), NUMBERS, size("blocks")
    call = "nd_delivery.send({source}, {count});"
    first = ["nd_delivery.of_latency = nd_of[4];"]
    lines = [
        *main.slots_alone(),
        f"nd_stencils<nd_slot_{name}, {kind}, {', '.join(flags)}> nd_delivery;",
        *[f"nd_delivery.{n} = {value};" for n, value in given.items()],
    ]
    if main.marks_dirty:
        lines.append("static thread_local long long nd_before = 0;")  # how to mark, no sum
        lines.append("nd_delivery.expect(nd_before);")
    lines += each_spike(spec, a, main.access.variable, blocks, call, first)
    if main.marks_dirty:
        lines.append("nd_before = nd_delivery.arrivals;")
    return block("", lines)
