"""The kernel of a fused pair: synapses are advanced while the Aggregator sums them."""

from __future__ import annotations

from ...model.text import block
from ...plan.arrays import Kind
from ...plan.unit import KernelSpec
from ..component import ComponentText
from ..finite import RangeFinite, finding
from ..kernel import Arguments, Kernel
from .events import plain_text
from .sums import SumText, tile_sums, variants
from .update import TILE, TILES, finish, tile_update


def fused_kernel(outer: KernelSpec, inner: KernelSpec) -> Kernel:
    """Return the kernel that sums and advances the synapses and updates their Aggregators.

    Parameters
    ----------
    outer, inner : KernelSpec
        Of the Aggregator and of the synapses.
    """
    arguments = Arguments()
    target = ComponentText(outer, arguments)
    synapse = ComponentText(inner, arguments)
    sums = [plain_text(target, a) for a in outer.model.accesses]
    inputs = [plain_text(synapse, a) for a in inner.model.accesses]
    head = [*target.head(), *sums[-1].storage()]
    head += [line for s in sums[:-1] for line in s.head()]
    inside = synapse.head(step=False)
    inside += [line for s in inputs for line in s.head()]
    length = arguments.scalar(inner.key(Kind.STEP, "dt_ms"))
    head.append(f"const real nd_synapse_ms = {length};")
    earlier = sums[:-1]
    pass_ = _pass(synapse, inputs, sums[-1], earlier)
    tile = [TILE, *tile_sums(earlier), *pass_, *tile_update(target, sums)]
    constants = [*block("", target.constants()), *block("", synapse.constants())]
    once = constants, [*target.initial(), *synapse.initial()]
    name = f"{outer.model.__name__}+{inner.model.__name__}"
    tests = RangeFinite(target), RangeFinite(synapse)
    begin, end = _tested(*tests)
    body = [*head, *inside, *begin, *block(TILES, tile), *end]
    return finish(name, arguments, once, body, find=_find(*tests, sums[-1]))


def _tested(*tests: RangeFinite) -> tuple[list[str], list[str]]:
    """Return what stands before and after all tiles, for the tests of both models."""
    summed = [one for one in tests if one.names and one.sums][:1]
    others = [one for one in tests if one.names and not one.sums]
    begin = [line for one in summed for line in one.begin()]
    return begin, [line for one in [*summed, *others] for line in one.end()]


def _find(target: RangeFinite, synapse: RangeFinite, total: SumText) -> list[str]:
    """Return the function that looks for values that are not finite, of targets and synapses."""
    some = next((one for one in (target, synapse) if one.names), None)
    if some is None:
        return []
    start = f"nd_start_{total.access.name}"
    first = f"const long long nd_first = {start}[nd_begin / ND_LANES];"
    last = f"const long long nd_last = {start}[(nd_end + ND_LANES - 1) / ND_LANES];"
    places = synapse.find("nd_first", "nd_last")
    return finding(some.record(), target.find(), [*total.storage(), first, last, *places])


def _pass(
    synapse: ComponentText, inputs: list[SumText], total: SumText, earlier: list[SumText]
) -> list[str]:
    """Return the loop that reads, sums and advances the synapses of one tile's targets."""
    at, name = "nd_p + nd_l", total.access.name
    synapse.place = at
    live = f"(nd_j < nd_degree_{name}[nd_slice * ND_LANES + nd_l])"
    lane = "for (int nd_l = 0; nd_l < ND_LANES; ++nd_l)"
    loop = (
        f"for (long long nd_p = nd_start_{name}[nd_slice], nd_j = 0; "
        f"nd_p < nd_start_{name}[nd_slice + 1]; nd_p += ND_LANES, ++nd_j)"
    )

    finite = RangeFinite(synapse)

    def over_synapses() -> list[str]:
        one = synapse.output(total.access.variable)
        inner = [*total.before(earlier), *total.add(one, at, live)]
        body = [*synapse.numbers_of(at), *synapse.load_states(at), *block("", inner)]
        body += [f"const real {s.symbol} = {s.direct(f'({at})', '')};" for s in inputs]
        body += ["const real dt_ms = nd_synapse_ms; (void)dt_ms;"]
        if synapse.spec.substeps == 1:
            body += ["const int substep = 0;", *synapse.mathematics()]
        else:
            head = f"for (int substep = 0; substep < {synapse.spec.substeps}; ++substep)"
            body += block(head, synapse.mathematics())
        whole = block(lane, [*body, *synapse.store(at), *finite.add()])
        return block(loop, [finite.simd, *whole])

    slices = [
        "const long long nd_slice = (nd_t + nd_s) / ND_LANES;",
        "nd_sum_t nd_acc[ND_LANES] = {0};",
        *variants(inputs, over_synapses),
        "for (int nd_l = 0; nd_l < ND_LANES; ++nd_l)",
        f"    nd_sum_{name}[nd_s + nd_l] = (real)nd_acc[nd_l];",
    ]
    kind = "double" if total.access.accumulate == "double" else "real"
    head = "for (int nd_s = 0; nd_s < nd_m; nd_s += ND_LANES)"
    return [
        f"real nd_sum_{name}[ND_TILE];",
        *block("", [f"typedef {kind} nd_sum_t;", *block(head, slices)]),
    ]
