"""Whether memory has room for a recording before it begins."""

from __future__ import annotations

from ..errors import RecordingError
from ..system import free_memory


def check_room(need: int, what: str, advice: str) -> None:
    """Raise RecordingError where ``need`` bytes are not free; ``what`` takes them."""
    if need > (room := free_memory()):
        raise RecordingError(
            f"{what} take {need / 2**30:,.1f} GiB, {room / 2**30:,.1f} GiB of memory are free; "
            f"{advice}"
        )
