"""Texts over the synapses of a path -> C++ and CUDA C++: one text for both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..model.language import Checked, tree, used
from ..model.language.words import FUNCTIONS
from ..model.synapse_texts import SynapseTexts
from ..model.text import block
from ..native.headers import INLINE, header
from .translate import CText

CHANGED = "changed != 0"
"""Condition for a synapse, of which rows without a mark have none."""

HOST = f"""/* texts over synapses */
#define ND_FN {INLINE}
#define ND_UNROLL
#ifdef __GNUC__
#define ND_PRAGMA(text) _Pragma(#text)
#define ND_UNROLL_BY(count) ND_PRAGMA(GCC unroll count)
#else
#define ND_UNROLL_BY(count)
#endif
/* The nearest whole number, by an addition that rounds: compilers make no vectors of llrint. */
ND_FN long long nd_whole(double x)
{{
    const double n = x * 0x1p40, most = n < 0 ? -0x1p52 : 0x1p52;
    return (long long)(__builtin_fabs(n) < 0x1p52 ? (n + most) - most : n);
}}
ND_FN long long nd_total(long long x) {{ return x; }}
ND_FN double nd_greatest_of(double x) {{ return x; }}
"""

RUN_ON_HOST = """
/* Find the greatest values of some units. */
extern "C" void nd_greatest(const nd_units *units, long long count)
{
    for (long long i = 0; i < count; ++i) nd_find_greatest(units[i], 0, 1);
}

/* Run the texts of all sets, for the rows from `low` up to `high`. */
extern "C" void nd_run(const nd_synapses *sets, const long long *begin, long long count,
                       long long low, long long high)
{
    for (long long i = 0; i < count; ++i) {
        const long long from = low > begin[i] ? low : begin[i];
        const long long to = high < begin[i + 1] ? high : begin[i + 1];
        for (long long row = from; row < to; ++row)
            nd_run_row(sets[i], (int)(row - begin[i]), 0, 1);
    }
}
"""

DEVICE = """/* texts over synapses */
#define ND_FN static __device__ __forceinline__
#define ND_MEMBER __device__ __forceinline__
#define ND_UNROLL _Pragma("unroll")
#define ND_UNROLL_BY(count)
ND_FN int nd_lane() { return (int)(threadIdx.x % 32); }
ND_FN void nd_together() { __syncwarp(); }
ND_FN unsigned nd_ballot(bool x) { return __ballot_sync(0xffffffffu, x); }
ND_FN int nd_bits_in(unsigned x) { return __popc(x); }
ND_FN int nd_lower(unsigned x) { return __popc(x & ((1u << nd_lane()) - 1)); }
ND_FN long long nd_whole(double x) { return __double2ll_rn(x * 0x1p40); }
ND_FN long long nd_total(long long x)
{
    for (int lanes = 16; lanes; lanes /= 2) x += __shfl_xor_sync(0xffffffffu, x, lanes);
    return x;
}
ND_FN double nd_greatest_of(double x)
{
    for (int lanes = 16; lanes; lanes /= 2) {
        const double other = __shfl_xor_sync(0xffffffffu, x, lanes);
        if (x < other || other != other) x = other;
    }
    return x;
}
"""

RUN_ON_DEVICE = """
/* Find the greatest values of some units: a warp for each entry. */
extern "C" __global__ void nd_greatest(const nd_units *units, long long count)
{
    const long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (i < count) nd_find_greatest(units[i], (int)(threadIdx.x % 32), 32);
}

/* Run texts of all sets: each warp takes a row. `nd_run_light` has only those texts that read no
 * vectors of sources: they take fewer registers, so more warps work at a time. */
#define ND_RUN(name, run_row, blocks)                                                           \\
    extern "C" __global__ void __launch_bounds__(128, blocks)                                   \\
    name(const nd_synapses *sets, const long long *begin, int count,                            \\
         const nd_packed *packed, int gpus, int how)                                            \\
    {                                                                                           \\
        const long long row = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32;          \\
        if (row >= begin[count]) return;                                                        \\
        int i = 0;                                                                              \\
        while (row >= begin[i + 1]) ++i;                                                        \\
        const int j = (int)(row - begin[i]);                                                    \\
        if (how == ND_ADDS) nd_add_row(packed, gpus, sets[i], j);                               \\
        run_row(sets[i], j, (int)(threadIdx.x % 32), 32);                                       \\
        if (how == ND_PACKS) nd_pack_row(packed, gpus, sets[i], j);                             \\
    }
ND_RUN(nd_run, nd_run_row, 4)
ND_RUN(nd_run_light, nd_run_light_row, 6)
"""


_ARE_NEIGHBOURS = [
    "const long long nd_near = nd_first < nd_end ? nd_source[nd_first] - nd_first : 0;",
    "long long nd_apart = 0;",
    "for (long long nd_p = nd_first; nd_p < nd_end; ++nd_p)",
    "    nd_apart |= nd_source[nd_p] - nd_p - nd_near;",
]
"""Find out whether the sources of a row are neighbours: ``nd_apart`` is 0 then."""


def host_text(texts: SynapseTexts, dtype: str) -> str:
    """Return C++ whose function ``nd_run`` runs the texts; ``dtype`` is that of states."""
    return "\n".join([HOST, rows_text(texts, dtype, host=True), RUN_ON_HOST])


def device_text(texts: SynapseTexts, dtype: str) -> str:
    """Return CUDA C++ whose kernel ``nd_run`` runs the texts; ``dtype`` is that of states."""
    light = [i for i, name in enumerate(texts.texts) if texts.is_light(name)]
    return "\n".join(
        [
            *(DEVICE, rows_text(texts, dtype), *_row("nd_run_light_row", light)),
            header("codegen/simt/packed_counts.cuh"),
            RUN_ON_DEVICE,
            header("codegen/simt/count_kernels.cuh"),
        ]
    )


def rows_text(texts: SynapseTexts, dtype: str, host: bool = False) -> str:
    """Return the function ``nd_run_row``, for threads that share a row, in words of both.

    On a ``host`` texts that read vectors of the sources have a second loop, for rows whose
    sources are neighbours: vectors of a CPU load these without an index for each.
    """
    kind = "float" if dtype == "float32" else "double"
    writers = [_SynapseWriter(texts, name, host) for name in texts.texts]
    lines = [line for i, one in enumerate(writers) for line in one.of_row(i)]
    run = _row("nd_run_row", range(len(writers)))
    head = [header("native/math.h"), f"typedef {kind} nd_state;"]
    return "\n".join([*head, header("codegen/synapse_texts.h"), *lines, *run])


def _row(name: str, numbers: Iterable[int]) -> list[str]:
    """Return a function that runs one of some texts for a row."""
    given = "const nd_synapses &nd_s, int nd_j, int nd_lane, int nd_lanes"
    cases = [f"case {i}: nd_text_{i}(nd_s, nd_j, nd_lane, nd_lanes); break;" for i in numbers]
    return block(f"ND_FN void {name}({given})", block("switch (nd_s.text)", cases))


def _statements(body: Checked) -> tuple[tree.Statement, ...]:
    assert isinstance(body.node, tree.Body)
    return body.node.statements


class _SynapseWriter(CText):
    """Writes the function of one text."""

    def __init__(self, texts: SynapseTexts, name: str, host: bool) -> None:
        super().__init__("float64")
        self.host, self.neighbours = host, host and not texts.is_light(name)
        self.texts, self.text = texts, name
        self.vectors = {f"pre_{one}" for one, size in texts.states.items() if size}

    def element(self, node: tree.Element) -> str:
        """Return an element; those of vectors of the source are read where they are needed."""
        if node.name not in self.vectors:
            return super().element(node)
        return f"((real)nd_at_{node.name}[{self.expression(node.index)}][nd_q])"

    def call(self, node: tree.Call) -> str:
        """Return a call; ``add`` and ``send`` are functions of the text's own."""
        if node.name in ("add", "send"):
            return f"nd_{node.name}({self._reals(node)})"
        return super().call(node)

    def of_row(self, number: int) -> list[str]:
        """Return the function ``nd_text_<number>``: what it does for one target."""
        texts, name = self.texts, self.text
        body, conditions, sums = texts.body(name), texts.conditions(name), texts.sums(name)
        every = [one.node for one in (body, *conditions, *sums.values())]
        words = used(*every)
        lines = [
            "const long long nd_first = nd_s.first[nd_j], nd_end = nd_s.first[nd_j + 1];",
            "const int *const nd_source = nd_s.source; (void)nd_source;",
            "long long *const nd_counts = nd_s.counts; (void)nd_counts;",
            *self._numbers(words),
            *(f"real *const nd_at_{one} = nd_s.own[{i}];" for i, one in enumerate(texts.own)
              if one in words),
        ]  # fmt: skip
        for one, term in sums.items():
            lines += self._sum(one, term)
        row = [*self._of_copy(words), *self._each(body)]
        copies = "for (long long nd_i = 0; nd_i < nd_s.copies; ++nd_i)"
        if texts.texts[name].when == CHANGED:  # rows without a mark have no such synapse
            lines = ["if (!nd_s.marks[nd_j]) return;", "long long nd_left = 0;", *lines]
            lines += block(copies, row)
            lines.append("const bool nd_any = nd_total(nd_left) != 0;")
            lines.append("if (nd_lane == 0) nd_s.marks[nd_j] = nd_any;")
        else:
            lines += block(copies, [*row, *self._marked(body)])
        given = "const nd_synapses &nd_s, int nd_j, int nd_lane, int nd_lanes"
        return block(f"ND_FN void nd_text_{number}({given})", lines)

    def _numbers(self, words: set[str]) -> list[str]:
        """Declare the numbers of a set that the text reads."""
        lines = ["const real inputs = (real)(nd_end - nd_first); (void)inputs;"]
        for i, name in enumerate(self.texts.numbers):
            if name in words:
                lines.append(f"const real {name} = nd_s.numbers[{i}];")
        at = len(self.texts.numbers)
        for name, size in self.texts.vectors.items():
            if name in words:
                lines.append(f"const real *const nd_at_{name} = nd_s.numbers + {at};")
            at += size
        return lines

    def _vectors(self, words: set[str]) -> Iterator[str]:
        """Copy vectors of a set: what follows from them alone is computed before the loop."""
        for name, size in self.texts.vectors.items():
            if name in words:
                fill = f"for (int nd_e = 0; nd_e < {size}; ++nd_e)"
                yield f"real {name}[{size}];"
                yield "ND_UNROLL"
                yield f"{fill} {name}[nd_e] = nd_at_{name}[nd_e];"

    def _of_copy(self, words: set[str]) -> list[str]:
        """Declare what the text reads in a copy, and leave out targets that are not meant."""
        texts, read = self.texts, [*self.texts.read(self.text)]
        lines = [
            f"real *const nd_at_{one} = nd_s.kept[nd_i * {len(texts.kept)} + {i}];"
            for i, one in enumerate(texts.kept)
            if one in words
        ]
        if read:
            table = f"nd_s.states + nd_i * {2 * texts.width}"
            lines.append(f"const nd_state *const *const nd_v = {table};")
        for side, name in read:
            lines += self._state(side, name)
        given = (*texts.given, *texts.greatest)
        for i, name in enumerate(given):
            if f"post_{name}" in words:
                place = "nd_j" if name in texts.given else "0"
                table = f"nd_s.given[nd_i * {len(given)} + {i}]"
                lines.append(f"const real post_{name} = {table}[{place}];")
        if texts.texts[self.text].where:
            lines.append(f"if (!({self.value_of(texts.conditions(self.text)[0])})) continue;")
        return lines

    def _state(self, side: str, name: str) -> list[str]:
        """Declare where a state of the sources is, or the state of the target."""
        size, at, symbol = self.texts.states[name], self.texts.place(side, name), f"{side}_{name}"
        if side == "pre" and size is None:
            return [f"const nd_state *const nd_at_{symbol} = nd_v[{at}];"]
        if size is None:
            return [f"const real {symbol} = (real)nd_v[{at}][nd_j];"]
        fill = f"for (int nd_e = 0; nd_e < {size}; ++nd_e)"
        if side == "pre":
            where = f"nd_at_{symbol}[nd_e] = nd_v[{at} + nd_e];"
            return [f"const nd_state *nd_at_{symbol}[{size}];", "ND_UNROLL", f"{fill} {where}"]
        value = f"{symbol}[nd_e] = (real)nd_v[{at} + nd_e][nd_j];"
        return [f"real {symbol}[{size}];", "ND_UNROLL", f"{fill} {value}"]

    def _each(self, body: Checked) -> list[str]:
        """Return the loop over the synapses of a target."""
        texts, words = self.texts, used(body.node)
        calls = {one.name for one in body.node.walk() if isinstance(one, tree.Call)}
        condition = texts.conditions(self.text)[-1:] if texts.texts[self.text].when else []
        counts = "add" in calls or "changed" in words or condition
        read = [name for side, name in texts.read(self.text) if side == "pre"]
        constants = [*self._of_target(body)]
        before = [*self._vectors(words), *self._lines(body, constants)]
        before += [f"(void){one.name};" for one in constants]
        lines = []
        for name in read:
            if texts.states[name] is None:
                lines.append(f"const real pre_{name} = (real)nd_at_pre_{name}[nd_q];")
        if counts:
            lines.append("long long nd_count = nd_counts[nd_p];")
            lines.append("real changed = nd_counted(nd_count); (void)changed;")
        leaves = [f"if (!({self.value_of(one)})) continue;" for one in condition]
        loads = self._loads(words)  # the threads of a warp wait once for all that they load
        lines += [*leaves, *loads] if self.host else [*loads, *leaves]
        lines += ["auto nd_add = [&](real nd_x) { nd_count += nd_whole(nd_x); };"] * (
            "add" in calls
        )
        lines += ["auto nd_send = [&](real nd_x) { nd_store_sent(nd_s, nd_p, nd_x); };"] * (
            "send" in calls
        )
        known = {id(one) for one in constants}
        lines += self._lines(body, [one for one in _statements(body) if id(one) not in known])
        written = texts.writes(self.text)
        for name in written:
            if name != "changed":
                lines.append(f"nd_at_{name}[nd_p] = {name};")
        if "changed" in written:
            lines.append("nd_count = nd_whole(changed);")
        if "add" in calls or "changed" in written:
            lines.append("nd_counts[nd_p] = nd_count;")
        if texts.texts[self.text].when == CHANGED:
            lines.append("nd_left |= nd_count != 0;")
        listed = ["const int nd_q = nd_source[nd_p];"] if read else []
        if not self.neighbours:
            return [*before, *block(self._loop(), [*listed, *lines])]
        near = ["const long long nd_q = nd_near + nd_p;"]
        return [
            *before,
            *_ARE_NEIGHBOURS,
            *block("if (!nd_apart)", block(self._loop(), [*near, *lines])),
            *block("else", block(self._loop(), [*listed, *lines])),
        ]

    def _lines(self, body: Checked, some: Sequence[tree.Statement]) -> list[str]:
        """Return the translation of some statements of a text."""
        self.begin(body)
        return [line for one in some for line in self.statement(one)]

    def _of_target(self, body: Checked) -> Iterator[tree.Declaration]:
        """Yield the constants that are equal for all synapses of a target.

        They are computed before the loop over the synapses: a choice within it would keep compilers
        from using vectors.
        """
        texts = self.texts
        known = {*FUNCTIONS, *texts.numbers, *texts.vectors, *texts.sums(self.text), "inputs"}
        known |= {f"post_{one}" for one in (*texts.states, *texts.given, *texts.greatest)}
        for one in _statements(body):
            if not isinstance(one, tree.Declaration) or not one.const or one.value is None:
                continue
            if used(one.value) <= known:
                known.add(one.name)
                yield one

    def _marked(self, body: Checked) -> list[str]:
        """Mark a target whose counts have changed."""
        calls = {one.name for one in body.node.walk() if isinstance(one, tree.Call)}
        changes = "add" in calls or "changed" in self.texts.writes(self.text)
        return ["if (nd_lane == 0) nd_s.marks[nd_j] = 1;"] * changes

    def _sum(self, name: str, term: Checked) -> list[str]:
        """Return the lines that sum a term over the synapses of a target."""
        words = used(term.node)
        lines = []
        if "changed" in words:
            lines.append("const real changed = nd_counted(nd_counts[nd_p]);")
        lines += [*self._loads(words), f"nd_sum += nd_whole({self.value_of(term)});"]
        total = f"const real {name} = nd_counted(nd_total(nd_sum));"
        inner = ["long long nd_sum = 0;", *block(self._loop(), lines), "return nd_sum;"]
        head = f"const auto nd_sum_{name} = [&]() -> long long"
        made = [*block(head, inner), ";"]
        return [*made, total.replace("nd_sum)", f"nd_sum_{name}())")]

    def _loads(self, words: set[str]) -> list[str]:
        names = [one for one in (*self.texts.own, *self.texts.kept) if one in words]
        return [f"real {name} = nd_at_{name}[nd_p];" for name in names]

    @staticmethod
    def _loop() -> str:
        return "for (long long nd_p = nd_first + nd_lane; nd_p < nd_end; nd_p += nd_lanes)"
