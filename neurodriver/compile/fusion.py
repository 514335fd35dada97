"""Fusion: synapses that only an Aggregator reads are advanced while it sums them.

The conductance of a synapse is a function of its states, so the sum of row k can read the states
before they are advanced to row k + 1: one pass over the synapses, and ``g`` is not written unless
somebody records it. The synapses are stored in the order in which the Aggregator's slices read
them. Order and arithmetic of every sum stay the same, so do all bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..circuit.circuit import Circuit, Port
from ..kernels.component import ComponentText, Shape
from ..kernels.kernel import Arguments, Kernel, block
from ..kernels.sums import SumText, tile_sums, variants
from ..kernels.update import TILE, TILES, finish, tile_update
from .delays import steps_of
from .gather import Edges, Gather, plan
from .injection import Slots

WASTE = 1.5
"""Most padding that fusion accepts: storage over synapses."""


@dataclass(frozen=True)
class Fused:
    """A fused pair of groups.

    Attributes
    ----------
    synapse : int
        Number of the synapse group.
    capacity : int
        Places in the synapses' storage, padding included.
    gather : Gather
        The Aggregator's sum of conductances, in sliced form.
    """

    synapse: int
    capacity: int
    gather: Gather


def find_fusions(circuit: Circuit, dt: float, slots: Slots) -> dict[int, Fused]:
    """Return the fusions that apply: number of the Aggregator's group -> Fused."""
    found: dict[int, Fused] = {}
    for number, group in enumerate(circuit.groups):
        if group.name != "Aggregator" or "g" in slots.count:
            continue
        fused = _find(circuit, number, dt)
        if fused is None or not _single_inputs(circuit, fused.synapse, slots):
            continue
        if fused.synapse not in {f.synapse for f in found.values()}:
            found[number] = fused
    return found


def _single_inputs(circuit: Circuit, number: int, slots: Slots) -> bool:
    """Whether no access of a group has more than one plain connection a component."""
    group, start = circuit.groups[number], int(circuit.starts[number])
    for access in group.model.accesses:
        degree = np.zeros(group.count, dtype=np.int64)
        for links in [*circuit.connections, *slots.connections]:
            if links.access == access.name and links.variable == access.variable:
                mine = links.target[(links.target >= start) & (links.target < start + group.count)]
                degree += np.bincount(mine - start, minlength=group.count)
        if degree.max() > 1 or access.connection:
            return False
    return True


def _find(circuit: Circuit, number: int, dt: float) -> Fused | None:
    start, end = circuit.starts[number], circuit.starts[number + 1]
    readers = [c for c in circuit.connections if c.variable == "g" and len(c)]
    if len(readers) != 1:
        return None
    links = readers[0]
    if links.access != "g" or not ((links.target >= start) & (links.target < end)).all():
        return None
    synapse = int(np.searchsorted(circuit.starts, links.source[0], side="right") - 1)
    group = circuit.groups[synapse]
    first = int(circuit.starts[synapse])
    each_once = np.array_equal(np.sort(links.source), first + np.arange(group.count))
    if not each_once or (steps_of(links, dt) != 1).any() or group.model is Port:
        return None
    model, outer = group.model, circuit.groups[number].model
    names = {*model.params, *model.constants, *model.terms, *model.states, *model.updates}
    names |= {model.input_symbol(a) for a in model.accesses} - {"g"}
    clash = names & {"V", "I", "reverse"} or {a.name for a in model.accesses} & {"V", "g"}
    if set(model.outputs) != {"g"} or set(model.updates) != {"g"} or clash or outer.params:
        return None
    order = np.argsort(links.target, kind="stable")
    data = {}
    if "reverse" in links.data:
        reverse = np.asarray(links.data["reverse"], dtype=np.float64)
        data["reverse"] = reverse[order] if reverse.ndim else reverse
    edges = Edges(
        (links.target[order] - start).astype(np.int64),
        np.zeros(len(links), dtype=np.int64),
        np.zeros((), dtype=np.int64),
        data,
    )
    gather = plan(edges, circuit.groups[number].count, 0, lattice=False)
    capacity = int(gather.arrays["start"][-1]) if gather.form == "sliced" else 0
    if gather.form != "sliced" or gather.tail or capacity > WASTE * group.count:
        return None
    place = np.empty(group.count, dtype=np.int64)
    place[links.source[order] - first] = gather.arrays["place"]
    gather.arrays["place"] = place  # of each synapse, in the circuit's order
    return Fused(synapse, capacity, gather)


def fused_kernel(outer: Shape, inner: Shape) -> Kernel:
    """Return the kernel that sums and advances the synapses and updates their Aggregators.

    Parameters
    ----------
    outer, inner : Shape
        Of the Aggregator and of the synapses.
    """
    arguments = Arguments()
    target = ComponentText(outer, arguments)
    synapse = ComponentText(inner, arguments, "synapse.")
    sums = [SumText(target, a) for a in outer.model.accesses]
    inputs = [SumText(synapse, a) for a in inner.model.accesses]
    head = [*target.head(), *sums[-1].storage()]
    head += [line for s in sums[:-1] for line in s.head()]
    inside = [line for line in synapse.head() if "dt_ms" not in line]
    inside += [line for s in inputs for line in s.head()]
    head.append(f"const real nd_synapse_ms = {arguments.scalar('synapse.dt_ms')};")
    earlier = [s for s in sums if s.access.name != "g"]
    pass_ = _pass(synapse, inputs, sums[-1], earlier)
    tile = [TILE, *tile_sums(earlier), *pass_, *tile_update(target, sums)]
    constants = [*block("", target.constants()), *block("", synapse.constants())]
    once = constants, [*target.initial(), *synapse.initial()]
    name = f"{outer.model.__name__}+{inner.model.__name__}"
    return finish(name, arguments, once, [*head, *inside, *block(TILES, tile)])


def _pass(
    synapse: ComponentText, inputs: list[SumText], total: SumText, earlier: list[SumText]
) -> list[str]:
    """Return the loop that reads, sums and advances the synapses of one tile's targets."""
    at = "nd_p + nd_l"
    live = "(nd_j < nd_degree_g[nd_slice * ND_LANES + nd_l])"
    lane = "for (int nd_l = 0; nd_l < ND_LANES; ++nd_l)"
    loop = (
        "for (long long nd_p = nd_start_g[nd_slice], nd_j = 0; "
        "nd_p < nd_start_g[nd_slice + 1]; nd_p += ND_LANES, ++nd_j)"
    )

    def over_synapses() -> list[str]:
        inner = [*total.before(earlier), *total.add(synapse.output("g"), at, live)]
        body = [*synapse.numbers_of(at), *synapse.load_states(at), *block("", inner)]
        body += [f"const real {s.symbol} = {s.direct(f'({at})', '')};" for s in inputs]
        body += ["const real dt_ms = nd_synapse_ms; (void)dt_ms;"]
        if synapse.shape.substeps == 1:
            body += ["const int substep = 0;", *synapse.mathematics()]
        else:
            head = f"for (int substep = 0; substep < {synapse.shape.substeps}; ++substep)"
            body += block(head, synapse.mathematics())
        return block(loop, ["ND_SIMD", *block(lane, [*body, *synapse.store(at)])])

    slices = [
        "const long long nd_slice = (nd_t + nd_s) / ND_LANES;",
        "nd_sum_t nd_acc[ND_LANES] = {0};",
        *variants(inputs, over_synapses),
        "for (int nd_l = 0; nd_l < ND_LANES; ++nd_l)",
        "    nd_sum_g[nd_s + nd_l] = (real)nd_acc[nd_l];",
    ]
    kind = "double" if total.access.accumulate == "double" else "real"
    head = "for (int nd_s = 0; nd_s < nd_m; nd_s += ND_LANES)"
    return [
        "real nd_sum_g[ND_TILE];",
        *block("", [f"typedef {kind} nd_sum_t;", *block(head, slices)]),
    ]
