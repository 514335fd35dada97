"""What the machine can do at best, measured in the run of the table that is held against it."""

from __future__ import annotations

import math

from .table import Row, Table, ceilings


def table(table: Table) -> list[Row]:
    """Return a row for the copy and one for each barrier."""
    bound = ceilings(table.backend)
    copy = {"case": f"ceiling: copy within memory, {bound.copy / 1e9:.0f} GB/s"}
    rows = [{**copy, "us a step": math.nan, "floor": "bytes read and bytes written"}]
    for width, seconds in bound.barriers.items():
        rows.append({"case": f"ceiling: barrier, {width}", "us a step": seconds * 1e6})
    return rows
