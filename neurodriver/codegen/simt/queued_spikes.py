"""Text of the function that sends the spikes in the queue of a warp: see ``queued_spikes.cuh``.

A *sender* is a variable of a unit, or what a kernel gets from inputs and other parts. Queues know
senders by numbers: first those of units, then the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...model.text import block
from .imports import Sender
from .shape import Shape
from .shared_texts import SharedText, sent_from
from .spike_delivery import Sent, queued_sender

if TYPE_CHECKING:
    from .device import Part

MOST_SENDERS = 1 << 12
"""Senders that a queue knows by their numbers."""

Numbers = Mapping[tuple[str, str], int]
"""Namespace of a text and variable -> number of the sender."""


def has_queues(parts: Sequence[Part], shape: Shape) -> bool:
    """Return whether warps have queues: where they have several items in turn that send spikes."""
    sends = any(_sent(part) for part in parts if part.advances)
    return sends and not shape.holds and shape.window <= 1


def sender_numbers(units: Sequence[SharedText]) -> Numbers:
    """Return the numbers of the variables that units send."""
    return {key: number for number, key in enumerate(_senders(units))}


def numbers_text(text: SharedText, variables: Sequence[str], numbers: Numbers) -> list[str]:
    """Return the numbers of a unit's variables as text; -1 where nothing is sent."""
    each = [f"nd_sender_of_{name} = {numbers.get((text.space, name), -1)}" for name in variables]
    return [f"enum {{ {', '.join(each)} }};"] if each else []


def send_queued(units: Sequence[SharedText], imports: Mapping[Sender, Sequence[Sent]]) -> list[str]:
    """Return the function that sends what is in the queue of a warp."""
    senders = [
        [(n, _first(text, name, n), by) for n, _, by in text.part.sends[name]]
        for (_, name), text in _senders(units).items()
    ]
    own = len(senders)
    senders += [[(n, f"{first}ll", by) for n, first, by in sent] for sent in imports.values()]
    assert len(senders) <= MOST_SENDERS, "numbers of senders have 12 bits"
    head = "ND_FN int nd_who_imports(int sender)"
    return [*block(head, [f"return {own} + sender;"]), *queued_sender(senders)]


def _sent(part: Part) -> list[str]:
    """Return the variables whose events are sent along connections."""
    return sorted(variable for variable, deliveries in part.sends.items() if deliveries)


def _senders(units: Sequence[SharedText]) -> dict[tuple[str, str], SharedText]:
    return {(text.space, name): text for text in units for name in _sent(text.part)}


def _first(text: SharedText, variable: str, delivery: int) -> str:
    """Return the expression of the first source of a sender at a delivery."""
    found = sent_from(text, variable, delivery, "nd_member(nd_q.who)")
    return found if text.lone else f"{text.space}::{found}"
