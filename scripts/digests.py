"""Digests of every variable of a zoo of circuits: equal before and after a change of the code.

    python scripts/digests.py -o before.json
    python scripts/digests.py -o after.json --backend cuda --executor stepwise
    python scripts/digests.py --compare before.json after.json

The package is the one that Python finds, so one script serves several checkouts:
``PYTHONPATH=CHECKOUT python scripts/digests.py -o FILE.json``. No digest depends on backend,
executor or number of threads, or on whether a circuit is a copy of a batch (``--copies 3``) or is
computed in parts (``--parts 3``). The first run compiles some hundred kernels; on a GPU, where each
circuit is compiled in every run, ``--jobs 8`` shares that work among processes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from zoo import cases
from zoo.case import Case, How, digests

import neurodriver

DTYPES = ("float64", "float32")

Digests = dict[str, dict[str, str]]
"""Case and type -> variable -> digest."""


def chosen(words: list[str]) -> list[Case]:
    """Return the cases whose names contain one of the words; all where there are none.

    Raises
    ------
    SystemExit
        Where no name contains a word.
    """
    every = list(known().values())
    for word in words:
        if not any(word in case.name for case in every):
            sys.exit(f"no case has '{word}' in its name; --list prints the names")
    return [case for case in every if not words or any(word in case.name for word in words)]


def taken(
    some: list[Case], dtypes: Iterable[str], given: dict[str, Any], jobs: int, told: bool
) -> dict[str, Any]:
    """Return the digests of cases, cases that the backend cannot run, and those that failed.

    ``jobs`` processes share the work: much of the time on a GPU is the compiler's.
    """
    skipped = {
        case.name: "its models read the memory of the host"
        for case in some
        if case.host and (given["backend"] == "cuda" or given["resumed"])
    }
    runs = [(case.name, dtype) for case in some if case.name not in skipped for dtype in dtypes]
    work = [(*one, given) for one in runs]
    found: Digests = {}
    failed: dict[str, str] = {}
    with ExitStack() as stack:
        each: Iterable[tuple[Any, float]] = map(one_run, work)
        if jobs > 1:
            pool = ProcessPoolExecutor(jobs, get_context("spawn"))
            each = stack.enter_context(pool).map(one_run, work)
        for (name, dtype), (one, seconds) in zip(runs, each, strict=True):
            if one is None:
                skipped[name] = "it has no copies" if given["copies"] else "it has no parts"
            elif isinstance(one, str):
                failed[f"{name}, {dtype}"] = one
            else:
                found[f"{name}, {dtype}"] = one
            if told:
                print(f"{seconds:6.2f} s  {name}, {dtype}", flush=True)
    return {"skipped": skipped, "failed": failed, "digests": found}


def one_run(work: tuple[str, str, dict[str, Any]]) -> tuple[Any, float]:
    """Return the digests of one case and type, or why it failed, and the seconds that it took."""
    name, dtype, given = work
    warnings.simplefilter("ignore")  # of ports without a pattern, and the like
    begin = time.perf_counter()
    out: dict[str, str] | str | None
    try:
        out = digests(known()[name], How(dtype, **given))
    except Exception as error:  # the other cases are of use all the same
        if given["copies"] and "cannot be part of a batch" in str(error):
            return None, 0.0
        if given["parts"] and "leave out parts=" in str(error):
            return None, 0.0
        traceback.print_exc()
        out = f"{type(error).__name__}: {error}"
    return out, time.perf_counter() - begin


@cache
def known() -> dict[str, Case]:
    """Return all cases by name."""
    return {case.name: case for case in cases()}


def differences(one: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each variable whose digests differ, or that one of two files lacks."""
    left, right = one["digests"], other["digests"]
    for name in dict.fromkeys([*left, *right]):
        here = [side["digests"].get(name) for side in (one, other)]
        if None in here:
            lacking = (one, other)[here.index(None)]
            if name.rpartition(", ")[0] not in lacking["skipped"]:
                yield f"{name}: only in the {'second' if lacking is one else 'first'}"
            continue
        for variable in dict.fromkeys([*here[0], *here[1]]):
            values = [side.get(variable) for side in here]
            if None in values:
                place = "second" if values[0] is None else "first"
                yield f"{name}, {variable}: only in the {place}"
            elif values[0] != values[1]:
                yield f"{name}, {variable}: differs"


def compare(paths: list[Path]) -> int:
    """Print what differs between two files of digests; return 1 where anything does."""
    one, other = (json.loads(path.read_text(encoding="utf-8")) for path in paths)
    found = list(differences(one, other))
    shared = [
        (name, variable)
        for name in one["digests"].keys() & other["digests"].keys()
        for variable in one["digests"][name]
    ]
    for name, reason in {**one["skipped"], **other["skipped"]}.items():
        print(f"{name}: skipped: {reason}")
    print(*found, f"{len(shared)} digests compared, {len(found)} differences", sep="\n")
    return 1 if found or not shared else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="only the cases with one of these in their name")
    parser.add_argument("-o", "--output", type=Path, help="file of JSON to write")
    parser.add_argument("--compare", nargs=2, type=Path, metavar="FILE", help="compare two files")
    parser.add_argument("--dtype", action="append", choices=DTYPES, help="one type alone")
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--executor", choices=("resident", "stepwise"), help="on a GPU")
    parser.add_argument("--resume", nargs="+", metavar="WHERE", default=(),
                        help="LPUs that go on from the state of the one before, each on cpu, "
                        "cuda or cuda:stepwise; cases of several LPUs run as they are")  # fmt: skip
    parser.add_argument("--copies", type=int, default=0,
                        help="run each circuit as the last copy of a batch of so many")  # fmt: skip
    parser.add_argument("--parts", type=int, default=0, help="parts of each circuit")
    parser.add_argument("--threads", type=int, help="of the CPU; by the circuit's size if left out")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the work")
    parser.add_argument("--share", nargs=2, type=int, metavar=("I", "N"), default=(0, 1),
                        help="only the cases I, I + N, I + 2 N, ... of those chosen")  # fmt: skip
    parser.add_argument("--list", action="store_true", help="print the names of all cases")
    parser.add_argument("-v", "--verbose", action="store_true", help="print seconds of each case")
    arguments = parser.parse_args()
    if arguments.compare:
        return compare(arguments.compare)
    some = chosen(arguments.words)[slice(arguments.share[0], None, arguments.share[1])]
    if arguments.list:
        print(*(case.name for case in some), sep="\n")
        return 0
    if arguments.output is None:
        parser.error("give -o FILE, --compare or --list")
    taken_over = "backend", "executor", "threads", "copies", "parts"
    given = {name: getattr(arguments, name) for name in taken_over}
    names = "backend", "executor"
    resumed = [dict(zip(names, w.split(":"), strict=False)) for w in arguments.resume]
    given["resumed"] = resumed
    begin = time.perf_counter()
    found = taken(some, arguments.dtype or DTYPES, given, arguments.jobs, arguments.verbose)
    told = {"version": neurodriver.__version__, **given}
    text = json.dumps({"run": told, **found}, indent=1)
    arguments.output.write_text(text + "\n", encoding="utf-8")
    count = sum(map(len, found["digests"].values()))
    runs, seconds = len(found["digests"]), time.perf_counter() - begin
    print(f"{count} digests of {runs} runs in {seconds:.0f} s: {arguments.output}")
    for name, reason in found["failed"].items():
        print(f"{name}: failed: {reason:.300}")
    return 1 if found["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
