"""Text of the functions that send spikes that no kernel computes: one for each sender."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...model.text import block
from ...native.headers import header
from .spike_delivery import Sent, sender

Sender = tuple[str, bool]
"""A variable of events, and whether they are those of inputs, or of sources in other parts."""


def other_kernels(senders: Iterable[Sender]) -> list[str]:
    """Return the kernels beside the step loop.

    They list events, move values, and draw the trains of inputs where these are sent.
    """
    names = ["codegen/simt/event_lists.cuh", "codegen/simt/move.cuh"]
    if any(inputs for _, inputs in senders):
        names += ["native/philox.h", "codegen/simt/trains.cuh"]
    return list(map(header, names))


def imported_senders(imports: Mapping[Sender, Sequence[Sent]]) -> list[str]:
    """Return the function by which a warp sends spikes that have come.

    What is due in the next step is delivered at once, and so is all where the spikes have come late
    (``at_once``): there is no step in which others could deliver the rest.
    """
    lines, cases = [], []
    for number, ((variable, _), deliveries) in enumerate(imports.items()):
        sent = [(n, f"{first}ll", by) for n, first, by in deliveries]
        text = sender(variable, sent, kept=True)
        lines += [f"namespace nd_import_{number} {{", *text, "}"]
        cases += block(f"case {number}:", _case(number, variable, deliveries))
    given = "int sender, long long nd_row, bool mine, int at, real value, bool at_once"
    head = f"static __device__ __noinline__ void nd_send_imported({given})"
    return [*lines, *block(head, block("switch (sender)", [*cases, "default: break;"]))]


def _case(number: int, variable: str, deliveries: Sequence[Sent]) -> list[str]:
    """Return the lines that send the spikes of one variable."""
    space = f"nd_import_{number}"
    merge = [
        line
        for n, _, by in deliveries
        if by == "pieces"
        for line in (
            f"nd_e.outgoing[0].of_{n}.near += nd_e.outgoing[0].of_{n}.far;",
            f"nd_e.outgoing[0].of_{n}.far = 0;",
        )
    ]
    send = [
        "if (mine && value != 0) nd_e.outgoing[0].ask(at);",
        *(block("if ((ND_WINDOW || at_once) && mine && value != 0)", merge) if merge else []),
        f"{space}::nd_send_{variable}<1>(nd_row, nd_e);",
    ]
    return [
        f"nd_sent<1, {space}::nd_outgoing_of_{variable}> nd_e;",
        "nd_e.bits[0] = nd_ballot(mine && value != 0);",
        "nd_e.value[0] = value, nd_e.at[0] = at;",
        *block("if (nd_e.bits[0])", send),
        "break;",
    ]
