"""The kernel of one group: sums of the inputs, mathematics, stores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...model.text import block
from ...plan.unit import KernelSpec
from ..component import ComponentText
from ..finite import RangeFinite, finding
from ..kernel import Arguments, Kernel
from ..learned_sums import learned_parts
from ..member_sums import MemberSumText
from .events import delivery_lines, sum_text
from .fanout import FanoutText
from .learning import LearningText, learning_texts
from .loop_fission import in_loops
from .shared_numbers import shared_numbers
from .stencils import stencil_lines
from .strips import StripText, fits
from .sums import SumText, tile_sums, variants
from .tile_draws import TileDraws
from .uniform_choice import chosen_before
from .vector_kinds import NotVectors

if TYPE_CHECKING:
    from ..reactions import SubUnitText

_SIGNATURE = (
    "ND_KERNEL void nd_update("
    "const nd_args *nd_a, long long nd_k, long long nd_begin, long long nd_end)"
)
_OPEN = "ND_KERNEL void nd_open(const nd_args *nd_a, long long nd_k)"
_CONSTANTS = "ND_KERNEL void nd_constants(const nd_args *nd_a)"
_INITIAL = "ND_KERNEL void nd_initial(const nd_args *nd_a)"
_LOOP = "for (int nd_i = 0; nd_i < nd_m; ++nd_i)"
TILES = "for (long long nd_t = nd_begin; nd_t < nd_end; nd_t += ND_TILE)"
TILE = "const int nd_m = (int)(nd_end - nd_t < ND_TILE ? nd_end - nd_t : ND_TILE);"


def update_kernel(spec: KernelSpec) -> Kernel:
    """Return the kernel that advances one group by one step."""
    arguments = Arguments()
    component = ComponentText(spec, arguments)
    sums = [sum_text(component, a) for a in spec.model.accesses]
    learned = [learned_parts(component, one.access) for one in sums]
    for one, parts in zip(sums, learned, strict=True):
        one.parts = parts
    parts = [part for some in learned for part in some]
    head = component.head() + [line for s in [*sums, *parts] for line in s.head()]
    head += component.waiting()
    head += [line for s in sums for line in s.waiting()]
    head += [] if fits(spec) else shared_numbers(component)
    tile = [TILE, *tile_sums(sums)]
    if spec.substeps == 1 and spec.model.draws_random():
        draws = TileDraws(component, sums)
        component.translator.declared_before = draws.known
        tile += variants(sums, lambda: drawn_update(component, sums, draws))
        head += draws.head()
    else:
        tile += variants(sums, lambda: tile_update(component, sums))
    tile += [line for s in sums for line in s.after_tile()]
    tile += component.write_events()
    finite = RangeFinite(component)
    once = component.constants(), component.initial()
    strips = strips_of(component, finite)
    pools = [MemberSumText(component, one) for one in spec.adds]
    add = [line for one in pools for line in one.range()]
    held = held_lines(component, add)
    body = [*head, *held, *finite.begin(), *(strips or block(TILES, tile)), *add, *finite.end()]
    find = finding(finite.record(), finite.find()) if finite.names else []
    learning = [part for s in sums if isinstance(s, FanoutText) for part in learning_texts(s)]
    deliver = [*delivery_lines(sums), *(line for one in learning for line in one.step())]
    deliver += [line for one in sums if isinstance(one, FanoutText) for line in stencil_lines(one)]
    opens = [line for one in pools for line in one.opened()]
    made = finish(spec.model.__name__, arguments, once, body, deliver, find, opens)
    rules = [line for part in parts for line in [*part.structure(), ""]]
    made = replace(made, text="\n".join([*rules, made.text]))
    return with_learning(made, arguments, learning) if learning else made


def held_lines(component: ComponentText, add: list[str]) -> list[str]:
    """Return what a step does that the group leaves out: values stay, there are no events.

    ``add`` adds the values to pools.
    """
    spec = component.spec
    if (spec.every, spec.first) == (1, 0):
        return []
    lines = []
    for name in component.model.updates:
        if name in spec.published and name not in (*component.events, *spec.unseen):
            each = "for (long long nd_i = nd_begin; nd_i < nd_end; ++nd_i)"
            held = [
                f"const real *nd_held = {component.row(name)};",
                f"{each} nd_new_{name}[nd_i] = nd_held[nd_i];",
            ]
            lines += block("", held)
    if component.events:
        lines += block(TILES, [TILE, *component.write_events()])
    due = f"nd_k >= {spec.first} && (nd_k - {spec.first}) % {spec.every} == 0"
    return block(f"if (!({due}))", [*lines, *add, "return;"])


def strips_of(component: ComponentText, finite: RangeFinite) -> list[str]:
    """Return the loop over strips of cells; nothing where components are updated by tiles."""
    if not fits(component.spec):
        return []
    try:
        return StripText(component).kernel(finite.add())
    except NotVectors:
        return []


def drawn_update(component: ComponentText, sums: list[SumText], draws: TileDraws) -> list[str]:
    """Return the random numbers of one tile, then the loop over its components."""
    update = tile_update(component, sums)
    return [*draws.tile(), *update]


def tile_update(component: ComponentText, sums: list[SumText]) -> list[str]:
    """Return the loop over the components of one tile, or several if the text is long."""
    at = "nd_t + nd_i"
    if loops := in_loops(component, sums):
        return loops
    if component.spec.substeps == 1:
        finite = RangeFinite(component)
        body = [
            *component.numbers_of(at),
            *tile_inputs(sums, at),
            *component.load_states(at),
            "const int substep = 0;",
        ]
        body += ["(void)substep;", *component.mathematics(), *component.store(at), *finite.add()]
        body += [line for s in sums for line in s.after()]
        return chosen_before(component, [finite.simd, *block(_LOOP, body)])
    return tile_substeps(component, sums)


def tile_substeps(
    component: ComponentText, sums: list[SumText], units: SubUnitText | None = None
) -> list[str]:
    """Return load, sub-steps and store: states wait in arrays of the tile between them.

    Sub-units are advanced before the components' own mathematics, from the same old states.
    """
    at = "nd_t + nd_i"
    given = [*component.numbers_of(at), *tile_inputs(sums, at)]
    loop = _LOOP if units is None else _LOOP.replace("= 0", "= nd_0", 1)
    carried = [*component.model.states, *component.flags()]
    lines = [f"real nd_l_{name}[ND_TILE];" for name in carried]
    keep = [f"nd_l_{name}[nd_i] = {name};" for name in carried]
    load = [f"real {name} = nd_l_{name}[nd_i];" for name in carried]
    lines += ["ND_SIMD", *block(loop, [*component.load_states(at), *keep])]
    body: list[str] = []
    totals: list[str] = []
    if units is not None:
        lines += units.totals()
        body = block(loop, [*given, *load, *component.old_terms(), *units.before(at)])
        totals = units.load_totals()
    inner = [*given, *load, *totals, *component.mathematics(), *keep]
    head = f"for (int substep = 0; substep < {component.spec.substeps}; ++substep)"
    lines += block(head, [*body, "ND_SIMD", *block(loop, inner)])
    finite = RangeFinite(component)
    final = [*component.numbers_of(at), *load, *component.store(at), *finite.add()]
    return [*lines, finite.simd, *block(loop, final)]


def tile_inputs(sums: list[SumText], at: str) -> list[str]:
    """Return the declarations of the finished sums of one component."""
    return [
        f"const real {s.symbol} = {s.direct(f'({at})', 'nd_i')}; (void){s.symbol};" for s in sums
    ]


def finish(
    name: str,
    arguments: Arguments,
    once: tuple[list[str], list[str]],
    body: list[str],
    deliver: list[str] | None = None,
    find: list[str] | None = None,
    opens: list[str] | None = None,
) -> Kernel:
    """Return the kernel with its functions: constants and initial outputs, then the update.

    With ``deliver``, one more comes before each update, for the spikes that are due. ``find`` is a
    function that the update calls. With ``opens``, one comes before the first step of a call.
    """
    update = [*(find or []), *block(_SIGNATURE, body)]
    if deliver:
        update += ["", *block(_SIGNATURE.replace("nd_update", "nd_deliver"), deliver)]
    if opens:
        update += ["", *block(_OPEN, opens)]
    made = finish_with(name, arguments, once, update)
    return replace(made, delivers=bool(deliver), adds=bool(opens))


def with_learning(kernel: Kernel, arguments: Arguments, learning: list[LearningText]) -> Kernel:
    """Return a kernel with what its synapses learn, and a function that brings all up to date."""
    structures = [line for one in learning for line in [*one.structure(), ""]]
    catch_up = [line for one in learning for line in one.catch_up()]
    last = ["", *block(_SIGNATURE.replace("nd_update", "nd_catch_up"), catch_up), ""]
    text = "\n".join([*structures, kernel.text, *last])
    tables = (arguments.pointers, arguments.integers, arguments.scalars)
    pointers, integers, scalars = map(tuple, tables)
    return replace(
        kernel, text=text, learns=True, pointers=pointers, integers=integers, scalars=scalars
    )


def finish_with(
    name: str, arguments: Arguments, once: tuple[list[str], list[str]], update: list[str]
) -> Kernel:
    """Return the kernel with its functions, the update in whatever form."""
    parts = [block(_CONSTANTS, once[0]), block(_INITIAL, once[1]), update]
    text = "\n".join(line for part in parts for line in [*part, ""])
    return Kernel(
        name,
        text,
        tuple(arguments.pointers),
        tuple(arguments.integers),
        tuple(arguments.scalars),
        tuple(arguments.scratch.values()),
    )
