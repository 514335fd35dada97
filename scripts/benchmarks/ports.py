"""A million ports expanded and found; a million connections; ten thousand single assignments."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurodriver.compat.ports import PortMapper
from neurodriver.compat.ports import Selector as SequenceSelector
from neurodriver.ports import Interface, Pattern

from .files import timed
from .measure import median

PORTS = 1_000_000
SINGLE = 10_000


def expanding() -> None:
    """Expand a selector to columns and find every port's place."""
    found = Interface(f"/a[0:{PORTS}]").rows(f"/a[0:{PORTS}]")
    assert len(found) == PORTS and found[-1] == PORTS - 1


def shuffled() -> None:
    """Find the ports of a list of tuples in random order."""
    order = np.random.default_rng(1).permutation(PORTS)
    mapper = PortMapper(f"/a/b[0:{PORTS}]")
    asked = SequenceSelector([("a", "b", k) for k in order.tolist()])
    np.testing.assert_array_equal(mapper.ports_to_inds(asked), order)


def connecting() -> None:
    """Connect a million ports one by one and ask for both ends."""
    a, b = f"/a[0:{PORTS}]", f"/b[0:{PORTS}]"
    pattern = Pattern.from_concat(a, b, from_sel=a, to_sel=b, gpot_sel=f"{a},{b}", data=1)
    assert pattern.interface.mask(0, type="gpot").sum() == PORTS
    src, dst = pattern.between(0, 1)
    assert len(src) == len(dst) == PORTS


def assigning() -> None:
    """Connect ten thousand ports, each with an assignment of its own."""
    pattern = Pattern(f"/a[0:{SINGLE}]", f"/b[0:{SINGLE}]")
    for k in range(SINGLE):
        pattern[f"/a[{k}]", f"/b[{k}]"] = 1
    assert len(pattern.sorted_links().src) == SINGLE


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return a row per job; the old library has no figures to set beside them."""
    jobs = [
        (f"{PORTS:,} ports: expand a range, find each", expanding, "< 1 s"),
        (f"{PORTS:,} ports: tuples in random order, find each", shuffled, ""),
        (f"{PORTS:,} connections: build, type, query", connecting, "seconds"),
        (f"{SINGLE:,} assignments p[a, b] = 1", assigning, ""),
    ]
    return [
        {
            "case": name,
            "us a step": float("nan"),
            "seconds": median([timed(job) for _ in range(rounds)]),
            "peer": "",
            "ratio": float("nan"),
            "target": target,
            "floor": "",
        }
        for name, job, target in jobs
    ]
