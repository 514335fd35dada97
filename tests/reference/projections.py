"""Projections in plain Python: Philox from its paper, and each rule written from its description.

It shares no code with the package.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist

ENDS, WEIGHT, DELAY, SHARE = range(4)


def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Return a block of Philox4x32-10 (Salmon et al. 2011, doi 10.1145/2063384.2063405)."""
    x, (k0, k1) = list(counter), key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [p1 >> 32 ^ x[1] ^ k0, p1 & 0xFFFFFFFF, p0 >> 32 ^ x[3] ^ k1, p0 & 0xFFFFFFFF]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return x


class Draws:
    """Numbers of one projection."""

    def __init__(self, seed: int, name: str) -> None:
        text = f"projection {seed} {name}".encode()
        digest = hashlib.blake2b(text, digest_size=8).digest()
        self.key = [int.from_bytes(digest[i : i + 4], "little") for i in (0, 4)]

    def block(self, row: int, draw: int, stream: int, attempt: int = 0) -> list[int]:
        """Return four words of 32 bits."""
        counter = [draw & 0xFFFFFFFF, draw >> 32 << 24 | stream << 16 | attempt,
                   row & 0xFFFFFFFF, row >> 32]  # fmt: skip
        return philox(counter, self.key)

    def bits(self, row: int, stream: int = ENDS) -> Iterator[int]:
        """Yield words of 64 bits, two from a block."""
        draw = 0
        while True:
            a, b, c, d = self.block(row, draw, stream)
            yield a << 32 | b
            yield c << 32 | d
            draw += 1

    def uniform(self, row: int, draw: int, stream: int, attempt: int = 0) -> float:
        """Return a number of (0, 1): two draws share a block."""
        a, b = self.block(row, draw // 2, stream, attempt)[2 * (draw % 2) :][:2]
        return unit(a << 32 | b)

    def normal(self, row: int, draw: int, stream: int, attempt: int = 0) -> float:
        """Return a normal number, the quantile at a word: four draws share a block."""
        word = self.block(row, draw // 4, stream, attempt)[draw % 4]
        return NormalDist().inv_cdf((word + 0.5) * 2.0**-32)


def unit(bits: int) -> float:
    """Return the upper 53 of 64 bits as a number of (0, 1)."""
    return max(bits >> 11, 0.5) * 2.0**-53


def by_chance(draws: Draws, sources: int, targets: int, p: float) -> list[tuple[int, int]]:
    """Return pairs, each with probability p, by the gaps between them."""
    out = []
    for s in range(sources):
        at = -1
        for bits in draws.bits(s):
            at += math.floor(math.log(unit(bits)) / math.log1p(-p)) + 1
            if at >= targets:
                break
            out.append((s, at))
    return out


def total(draws: Draws, sources: int, targets: int, n: int) -> list[tuple[int, int]]:
    """Return n pairs: how many of each source, then the targets of each."""
    share = draws.bits(0, SHARE)
    count = [0] * sources
    for _ in range(n):
        count[next(share) * sources >> 64] += 1
    out = []
    for s in range(sources):
        bits = draws.bits(s)
        out += sorted((s, next(bits) * targets >> 64) for _ in range(count[s]))
    return out


def drawn_for(draws: Draws, row: int, among: int, k: int, multapses: bool) -> list[int]:
    """Return k numbers below ``among``; where they must differ, by Floyd's algorithm."""
    bits = draws.bits(row)
    if multapses:
        return [next(bits) * among >> 64 for _ in range(k)]
    taken: list[int] = []
    for last in range(among - k, among):
        x = next(bits) * (last + 1) >> 64
        taken.append(last if x in taken else x)
    return taken
