"""The kernels of a circuit -> one text for a device, with its step loop."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ...model.text import block
from ...native.headers import header
from ...plan.spikes.fanout import PIECE
from ..kernel import Kernel
from ..source import Dialect, prelude
from .imports import Sender, imported_senders, other_kernels
from .queued_spikes import Numbers, has_queues, numbers_text, send_queued, sender_numbers
from .shape import OUTGOING_BYTES, QUEUE_BYTES, ROOMY, Shape
from .shared_texts import (
    SharedText,
    cases_of,
    members_text,
    once_text,
    sent_from,
    shared_texts,
    table_sizes,
    table_text,
    tables_memory,
)
from .spike_delivery import Sent, due_deliverer, piece_deliverer, sender
from .thread_draws import KEEPS
from .thread_pools import opening_text

DEVICE = Dialect(
    function="static __device__ __forceinline__",
    kernel="static __device__",
    simd="",
    simd_any="",
    fixed="const nd_fixed<kind>",
    each="for (long long i = nd_first_of_all(); i < (n); i += nd_number_of_all())",
    row="(int)((unsigned)k & (unsigned)(depth - 1))",  # depths are powers of two
    opaque="ND_OPAQUE(ring)",
    stored="active[nd_row_index(k, depth)]",
    store="*(volatile long long *)(active + nd_row_index(k, depth)) = k",
    words="""
#define ND_MEMBER __device__ __forceinline__
#define ND_METHOD ND_MEMBER
#define ND_UNROLL _Pragma("unroll")
#define ND_WARP 32
#define ND_APART static __device__ __noinline__
#define ND_UNROLL_SUM _Pragma("unroll 8")
#define ND_ROLLED _Pragma("unroll 1")
#define __restrict
#define ND_OPAQUE(pointer) asm("" : "+l"(pointer))  /* an address, whatever it was made of */

/* Memory that no step writes. */
template <class T> struct nd_fixed {
    const T *at;
    ND_MEMBER nd_fixed(const T *p) : at(p) {}
    ND_MEMBER T operator[](long long i) const { return __ldg(at + i); }
    ND_MEMBER nd_fixed operator+(long long i) const { return at + i; }
};

ND_FN int nd_lane() { return (int)(threadIdx.x % 32); }
ND_FN void nd_together() { __syncwarp(); }
ND_FN int nd_bits_in(unsigned x) { return __popc(x); }
ND_FN int nd_lower(unsigned x) { return __popc(x & ((1u << nd_lane()) - 1)); }

/* Sixteen numbers side by side, from shared memory; they begin at a multiple of 16 bytes. */
ND_FN void nd_four(const int *p, int *to)
{
    const int4 v = *(const int4 *)p;
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
ND_FN void nd_four(const float *p, float *to)
{
    const float4 v = *(const float4 *)p;
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
ND_FN void nd_four(const double *p, double *to)
{
    const double2 v = *(const double2 *)p, w = *((const double2 *)p + 1);
    to[0] = v.x, to[1] = v.y, to[2] = w.x, to[3] = w.y;
}
template <class T> ND_FN void nd_sixteen(const T *from, T *to)
{
    ND_UNROLL
    for (int i = 0; i < 16; i += 4) nd_four(from + i, to + i);
}
ND_FN int nd_largest(int x) { return __reduce_max_sync(0xffffffffu, x); }

/* Shared memory: slots for values that are requested, ND_AHEAD of each thread, and ND_TEAM bytes a
 * thread for what the threads of a warp share. */
extern __shared__ __align__(16) unsigned char nd_scratch[];
#if ND_LEARNS
ND_FN void *nd_waiting_room()
{
    return nd_scratch + ND_WAITING_AT + threadIdx.x / 32 * ND_WAITING_BYTES;
}
#endif
template <class T> ND_FN T *nd_slot(int i)
{
    return (T *)nd_scratch + i * ND_THREADS + threadIdx.x;
}
template <class T> ND_FN T *nd_team()
{
    return (T *)(nd_scratch + ND_AHEAD * ND_THREADS * ND_WORD + (threadIdx.x & ~31u) * ND_TEAM);
}
template <class T> ND_FN void nd_ask(T *to, const T *from)
{
    const unsigned address = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 :: "r"(address), "l"(from), "n"(sizeof(T)) : "memory");
}
ND_FN void nd_asked() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> ND_FN void nd_await()
{
    asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
}
ND_FN long long nd_total(long long x)
{
    for (int i = 16; i; i /= 2) x += __shfl_xor_sync(0xffffffffu, x, i);
    return x;
}
ND_FN unsigned nd_across(unsigned x, int lanes) { return __shfl_xor_sync(0xffffffffu, x, lanes); }
template <class T> ND_FN T nd_from(T x, int lane) { return __shfl_sync(0xffffffffu, x, lane); }
template <class T> ND_FN T nd_down(T x, int by) { return __shfl_down_sync(0xffffffffu, x, by); }
/* Where the share of a thread of `n` passes of a loop begins (0) and ends (1). */
ND_FN int nd_share(int end, int n) { return (int)((long long)n * (nd_lane() + end) >> 5); }
ND_FN unsigned nd_ballot(bool x) { return __ballot_sync(0xffffffffu, x); }
ND_FN long long nd_first_of_all() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
ND_FN long long nd_number_of_all() { return (long long)gridDim.x * blockDim.x; }
""",
)

MOST_DRAWING = 2
"""Components of a thread at most whose random words it keeps: a dozen registers each."""

THRESHOLDS_BYTES = 136
"""Size of an ``nd_warp_counts`` (thread_draws.cuh) at most."""

GATES_BYTES = 3 << 10
"""Shared memory of a block for tables of what crosses to other GPUs (``nd_recording``)."""

TIMER_ROWS = 512
"""Rows into which warps count cycles: few of them add to the same one at the same time."""


Imports = Mapping[Sender, Sequence[Sent]]
"""What delivers events that come from inputs and from other parts."""

_GIVEN = "(item, k, until, lost)"


@dataclass(frozen=True)
class Part:
    """A kernel within the text of a circuit.

    Attributes
    ----------
    kernel : Kernel
    own : int
        Components that a thread advances side by side.
    integers : tuple of int or None
        The kernel's integers, which become part of the text: rows are found in fewer instructions.
        None for what is looked up in the table.
    delivery : bool
        Whether it delivers spikes; then it has no components.
    learning : bool
        Whether it is the text of connections that learn; then it has no components, either.
    warps : tuple of int
        Those that work for connections that learn: the first one, how many, and the byte of their
        shared memory where the pieces begin at whose sources they look.
    sends : mapping of str to sequence
        Variable -> what its events are sent by, see `spike_delivery.sender`.
    crowd : bool
        Whether there are so many components that warps wait for units, not for one another: then
        a division of few instructions is better than one without branches, see ``division.cuh``.
    stage : int
        Of the step.
    """

    kernel: Kernel
    own: int = 1
    integers: tuple[int | None, ...] = ()
    delivery: bool = False
    learning: bool = False
    warps: tuple[int, int, int] = (0, 0, 0)
    sends: Mapping[str, Sequence[Sent]] = field(default_factory=dict)
    crowd: bool = False
    stage: int = 0

    @property
    def advances(self) -> bool:
        """Whether it advances components."""
        return not (self.delivery or self.learning)

    @property
    def streams(self) -> str:
        """Function that does an item of a warp that has several."""
        return "nd_patch" if self.kernel.patches else "nd_stream"


def device_text(
    parts: Sequence[Part], dtype: str, shape: Shape, imports: Imports = MappingProxyType({})
) -> str:
    """Return everything a CUDA compiler needs to build the kernels of a circuit.

    Parameters
    ----------
    parts : sequence of Part
        Their kernels are in the form of ``threads``.
    dtype : str
        ``float64`` or ``float32``.
    shape : Shape
    imports : mapping of Sender to sequence of Sent
        What delivers events that come from inputs and from other parts.
    """
    record = max([shape.record, *[part.kernel.record for part in parts]])
    outgoing = (part.own * len(deliveries) for part in parts for deliveries in part.sends.values())
    asks = any(part.kernel.record for part in parts)  # for nearly all shared memory there is
    cached = 0 if asks else shape.cached(max(outgoing, default=0), _table_bytes(parts, shape))
    word = 4 if dtype == "float32" else 8
    names = ", ".join(dict.fromkeys(part.kernel.name for part in parts))
    lines = [
        f"/* {names}, {dtype} */",
        f"#define ND_THREADS {shape.threads}",
        f"#define ND_RESIDENT {shape.resident}",
        f"#define ND_HOLDS {int(shape.holds)}",
        f"#define ND_TURNS {int(shape.holds or shape.window > 1)}",
        f"#define ND_TIMERS {TIMER_ROWS * shape.timers}",
        f"#define ND_UNITS {sum(part.advances for part in parts)}",
        f"#define ND_WINDOW {shape.window}",
        f"#define ND_QUEUES {int(has_queues(parts, shape))}",
        *_delivery_words([part.kernel for part in parts if part.delivery], shape, len(imports)),
        *_learning_words(shape, replace(shape, record=record).scratch(word) * asks),
        f"#define ND_MARKS {int(shape.marks)}",
        f"#define ND_GATES {int(shape.gates)}",
        f"#define ND_COPIES {shape.copies}",
        f"#define ND_CACHES_DIRTY {int(shape.caches_dirty)}",
        f"#define ND_COUNTS {_counts(parts, shape)}",
        f"#define ND_KEEPS {int(cached > 0 or (shape.keeps and not shape.in_shared_memory))}",
        f"#define ND_CACHED {cached}",
        f"#define ND_OUTGOING_BYTES {OUTGOING_BYTES}",
        f"#define ND_QUEUE_BYTES {QUEUE_BYTES}",
        f"#define ND_ROOMY {int(shape.threads <= ROOMY)}",
        *_patch_words(parts, shape, replace(shape, record=record).patches_at(word, asks)),
        f"#define ND_AHEAD {shape.ahead}",
        f"#define ND_STAY {shape.stay}",
        f"#define ND_TEAM {replace(shape, record=record).team}",
        f"#define ND_WORD {word}",
        *prelude([part.kernel.text for part in parts], dtype, DEVICE),
    ]
    texts = shared_texts(parts)
    units = [text for text in texts if text.part.advances]
    deliveries = [number for number, part in enumerate(parts) if part.delivery]
    numbers = sender_numbers(units)
    lines += [*members_text(texts), *_headers(parts)]
    for text in sorted(texts, key=lambda text: text.part.advances + text.part.learning / 2):
        lines += _unit(text, tables_memory(parts), shape.copies > 0, numbers)
    lines += _bring_copy(texts, len(parts), bool(deliveries), shape.copies)
    lines += piece_deliverer([n for n in deliveries if parts[n].kernel.delivers])
    lines += due_deliverer([n for n in deliveries if parts[n].kernel.due])
    lines += send_queued(units, imports) if has_queues(parts, shape) else []
    lines += imported_senders(imports) if imports else []
    lines += [*_learn(parts, shape), *_stage_of(parts, shape.stages)]
    lines += _loop([text for text in units if text.part.kernel.patches])
    stream = [f"{cases_of(t)} {t.part.streams}<{t.space}::unit>{_GIVEN}; break;" for t in units]
    head = "ND_FN void nd_do_unit(const nd_item &item, long long k, long long until, bool lost)"
    lines += _choice(head, "item", stream)
    if shape.holds:
        hold = [f"{cases_of(t)} nd_hold<{t.space}::unit>(loop); break;" for t in units]
        lines += _choice("ND_FN void nd_hold_unit(nd_loop &loop)", "loop.item(0)", hold)
    lines += [*opening_text(units), *once_text(units)]
    return "\n".join([*lines, header("codegen/simt/device_end.cuh"), *other_kernels(imports)])


def _patch_words(parts: Sequence[Part], shape: Shape, taken: int) -> list[str]:
    """Return the definitions for patches of columns; ``taken``: bytes of shared memory."""
    return [
        f"#define ND_PATCHES {int(any(part.kernel.patches for part in parts))}",
        f"#define ND_KEEPS_CELLS {int(shape.cells > 0)}",
        f"#define ND_SOURCES_AT {shape.sources_at}",
        f"#define ND_PATCHES_AT {taken}",
    ]


def _loop(texts: Sequence[SharedText]) -> list[str]:
    """Return the step loop, and the functions of the units that are cut into patches."""
    opens = [f"nd_become({n}); {t.space}::unit::open();" for t in texts for n in t.numbers]
    bring = [f"{cases_of(t)} nd_bring_cells<{t.space}::unit>(item, k, back); break;" for t in texts]
    head = "ND_FN void nd_bring_unit(const nd_item &item, long long k, bool back)"
    return [
        header("codegen/simt/device.cuh"),
        *block("ND_FN void nd_open_offsets()", [*opens, "__syncthreads();"]),
        header("codegen/simt/patch_steps.cuh"),
        *_choice(head, "item", bring),
    ]


def _stage_of(parts: Sequence[Part], stages: int) -> list[str]:
    """Return the function that returns the stage of an item, if a step has several."""
    if stages == 1:
        return []
    each = ", ".join(str(part.stage if part.advances else 0) for part in parts)
    table = f"__constant__ const unsigned short nd_stages[] = {{{each}}};"
    line = f"return what < 0 ? {stages - 1} : nd_stages[what];"
    return [f"#define ND_STAGES {stages}", table, *block("ND_FN int nd_stage_of(int what)", [line])]


def with_integers(text: str, integers: Sequence[int | None]) -> str:
    """Return the text of a kernel with its integers in it."""

    def one(match: re.Match[str]) -> str:
        number = int(match.group(1))
        value = integers[number] if number < len(integers) else None
        return match.group() if value is None else f"{value}ll"

    return re.sub(r"nd_a->n\[(\d+)\]", one, text)


def _choice(head: str, item: str, cases: list[str]) -> list[str]:
    return block(head, block(f"switch ({item}.what)", [*cases, "default: break;"]))


def _headers(parts: Sequence[Part]) -> list[str]:
    """Return what the kernels are made of."""
    names = ["division", "tables", "peer_words", "spike_delivery"]
    names += ["due_lists", "due_history", "due_delivery", "queued_spikes"]
    if any("nd_words<" in part.kernel.text for part in parts):
        names.append("thread_draws")
    if any(part.learning for part in parts):
        names.append("learning")
    if any("nd_find_row(" in part.kernel.text for part in parts):
        names.append("by_place")
    if any(part.kernel.patches for part in parts):
        names.append("patches")
    names += ["member_sums"] * any(part.kernel.adds for part in parts)
    texts = [header(f"codegen/simt/{name}.cuh") for name in names]
    if any("nd_values<" in part.kernel.text for part in parts):
        texts.append(header("codegen/event.h"))
    return texts


def _delivery_words(deliveries: Sequence[Kernel], shape: Shape, imports: int) -> list[str]:
    """Return the definitions for the delivery of spikes."""
    return [
        f"#define ND_IMPORTS {imports}",
        f"#define ND_LOOKS_AGAIN {int(shape.looks_again)}",
        f"#define ND_LOOKAHEAD {int(shape.lookahead)}",
        f"#define ND_DELIVERS {int(len(deliveries) > 0)}",
        f"#define ND_LISTS {int(any(kernel.delivers for kernel in deliveries))}",
        f"#define ND_DUE {int(any(kernel.due for kernel in deliveries))}",
        f"#define ND_PIECE {PIECE}",
    ]


def _learning_words(shape: Shape, taken: int) -> list[str]:
    """Return the definitions for connections that learn; ``taken``: bytes of shared memory."""
    return [
        *[
            f"#define ND_{n.upper()} {int(getattr(shape, n))}"
            for n in ("learns", "every", "direct")
        ],
        f"#define ND_SUMS {shape.texts}",
        f"#define ND_WAITING_BYTES {shape.waiting}",
        f"#define ND_WAITING_AT {taken}",
    ]


def _learn(parts: Sequence[Part], shape: Shape) -> list[str]:
    """Return what does a part of a turn of learning, and what says when texts read sums."""
    learning = [number for number, part in enumerate(parts) if part.learning]
    if not learning:
        return []
    due = " || ".join(f"n % {steps} == 0" for one in shape.sums for steps in one) or "false"
    sums = block("ND_FN bool nd_sums_due(long long n)", [f"return n > 0 && ({due});"])
    head = "template <int phase> ND_APART void nd_learn(int lo, int hi, long long last)"
    call = "nd_learn_of<nd_part_{}::learning, phase>(lo, hi, last);"
    return [*sums, *block(head, [call.format(n) for n in learning])]


def _table_bytes(parts: Sequence[Part], shape: Shape) -> int:
    """Return the bytes of shared memory of a block for the tables of a copy, and for thresholds."""
    tables = sum(8 * sum(table_sizes(part.kernel)) for part in parts)
    thresholds = _counts(parts, shape) * shape.threads // 32 * THRESHOLDS_BYTES
    return thresholds + (1024 + tables if shape.copies else 0) + GATES_BYTES * shape.gates


def _counts(parts: Sequence[Part], shape: Shape) -> int:
    """Return of how many Poisson numbers of a component warps keep the thresholds of a mean."""
    return max((part.kernel.text.count("nd_counts<") for part in parts if not _keeps(part, shape)),
               default=0)  # fmt: skip


def _keeps(part: Part, shape: Shape) -> bool:
    """Whether each thread has registers for what it draws with."""
    return shape.holds and part.own <= MOST_DRAWING


def _bring_copy(texts: Sequence[SharedText], parts: int, delivers: bool, copies: int) -> list[str]:
    """Return the function that brings the tables of a copy into shared memory."""
    if not copies:
        return []
    lines = ["nd_into_shared(&nd_chunk, nd_copies.chunks + copy, sizeof nd_chunk);"]
    for text in texts:
        for member, number in enumerate(text.numbers):
            table = f"{text.space}::{text.name}" + ("" if text.lone else f"[{member}]")
            given = f"{table}, nd_copies.tables[copy * {parts} + {number}]"
            lines.append(f"nd_bring_arguments({given});")
    if delivers:
        place = "nd_copies.lists + 3 * copy"
        lines.append(f"nd_into_shared(&nd_spike_list, {place}, sizeof nd_spike_list);")
    return block("ND_FN void nd_bring_copy(int copy)", [*lines, "__syncthreads();"])


def _unit(text: SharedText, memory: str, copies: bool, numbers: Numbers) -> list[str]:
    """Return a kernel in a namespace of its own, with its tables of arguments."""
    part, kernel = text.part, text.part.kernel
    sends = sorted(set(re.findall(r"\bnd_send_(\w+)<", kernel.text)))
    inside = [
        f"enum {{ ND_OWN = {part.own}, ND_PAIR = {2 - part.own % 2} }};",
        f"static const bool {KEEPS} = ND_HOLDS && ND_OWN <= {MOST_DRAWING};",
        "typedef nd_table<{}, {}, {}, double> nd_args;".format(*table_sizes(kernel)),
        *table_text(text, memory, copies),
        f"enum {{ ND_DELIVERY = {text.numbers[0]} }};",
        "enum {{ ND_FIRST_WARP = {}, ND_WARPS = {}, ND_LOOKED_AT = {} }};".format(*part.warps),
        f"typedef {'nd_branching' if part.crowd else 'nd_straight'} nd_by;",
        *[line for variable in sends for line in _sender(text, variable)],
        *numbers_text(text, sends, numbers),
        with_integers(kernel.text, part.integers),
        "#undef nd_steady",
    ]
    return [f"namespace {text.space} {{", *inside, "}"]


def _sender(text: SharedText, variable: str) -> list[str]:
    """Return the function that sends the spikes of a variable."""
    sent = text.part.sends.get(variable, ())
    return sender(variable, [(n, sent_from(text, variable, n), by) for n, _, by in sent])
