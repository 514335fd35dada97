"""Kernel templates -> kernels with the normal entry point.

A template is CUDA text with the placeholders ``%(dt)s``, ``%(input_X)s``, ``%(param_X)s``,
``%(internal_X)s``, ``%(update_X)s`` (C types) and ``%(fletter)s`` (``f`` in single precision). The
kernel around it sums the inputs of a tile and calls the user's function for the components of the
tile, by their own numbers: what a component computes depends on no cut.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import ModelError, near
from ..model.text import block
from ..model.texts import named
from ..native.headers import header
from ..plan.arrays import Kind, activity, depth, width
from ..plan.unit import KernelSpec
from .component import ComponentText
from .cpu.events import plain_text
from .cpu.sums import tile_sums, variants
from .cpu.update import TILE, TILES, finish
from .kernel import Arguments, Kernel

_PLACE = re.compile(r"%%|%\((\w*)\)(s?)")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"]+)[>\"].*$", re.MULTILINE)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENTRY = re.compile(r"__global__[^;{}]*\bvoid\b[^;{}]*\bupdate\s*\(")
_THIRD = re.compile(r"\bupdate\s*\([^,()]*,[^,()]*,\s*(?:const\s+)?int\s+(\w+)\s*,")
_STRIDE = re.compile(r"\b(\w+)\s*=[^=;,][^;,]*\bgridDim\b")
_LOOP = re.compile(r"\bfor\s*\(")
_OF_THE_PROCESS = re.compile(
    r"\b(?:throw|try|catch|new|delete)\b|"
    r"\b(?:malloc|calloc|realloc|free|exit|_Exit|quick_exit|abort|longjmp)\b(?=\s*\()"
)
_DEVICE_ONLY = ("curand", "thrust", "cub/", "cooperative_groups", "device_atomic")


@dataclass(frozen=True)
class Signature:
    """What a template's function takes, after ``num_comps, dt, steps``.

    Attributes
    ----------
    integers : frozenset of str
        Parameters that are int.
    """

    params: tuple[str, ...]
    internals: tuple[str, ...]
    integers: frozenset[str] = frozenset()


def types(spec: KernelSpec, signature: Signature) -> dict[str, str]:
    """Return the C type of every placeholder."""
    real = "float" if spec.dtype == "float32" else "double"
    out = {"dt": real, "fletter": "f" if real == "float" else ""}
    out.update({f"input_{a.name}": real for a in spec.model.accesses})
    whole = signature.integers
    out.update({f"param_{p}": "int" if p in whole else real for p in signature.params})
    out.update({f"internal_{s}": real for s in signature.internals})
    out.update({f"update_{v}": real for v in spec.model.updates})
    return out


def filled_in(text: str, known: Mapping[str, str], where: str) -> str:
    """Return a template with its placeholders replaced; ``%%`` is a percent sign.

    A percent sign that begins no placeholder stays what it is.

    Raises
    ------
    ModelError
        For a placeholder that stands for nothing.
    """

    def one(match: re.Match[str]) -> str:
        if match.group() == "%%":
            return "%"
        name, mark = match.groups()
        if name in known and mark:
            return known[name]
        if not mark:
            return match.group()  # the remainder of a division by (name)
        hint = near(name, known) or f"; known are {', '.join(known)}"
        raise ModelError(f"{where}: unknown placeholder %({name})s{hint}")

    return _PLACE.sub(one, text)


def template_kernel(spec: KernelSpec, text: str, signature: Signature) -> Kernel:
    """Return the kernel that advances one group with the text of a user.

    Parameters
    ----------
    text : str
        What ``get_update_template`` returned.

    Raises
    ------
    ModelError
        When the text has unknown placeholders, no function ``update``, or needs a GPU.
    """
    where, bare, written = read(spec, text, signature)
    arguments = Arguments()
    component = ComponentText(spec, arguments)
    body = _body(component, signature, "gridDim" in bare)
    kernel = finish(where, arguments, ([], []), body)
    call = described(spec, signature)
    written = _independent(_one_pass(written) if spec.substeps == 1 else written)
    outside = [_user_text(written, where), f'#line 1 "{call}"']
    whole = "\n".join([*outside, kernel.text])
    return Kernel(where, whole, kernel.pointers, kernel.integers, kernel.scalars)


def read(spec: KernelSpec, text: str, signature: Signature) -> tuple[str, str, str]:
    """Return where a text comes from, the text without comments, and with its types filled in.

    Raises
    ------
    ModelError
        When the text has unknown placeholders, no function ``update``, or ends the program.
    """
    where = f"{spec.model.__name__}.get_update_template"
    bare = _COMMENT.sub(" ", text) if isinstance(text, str) else ""
    if not _ENTRY.search(bare):
        raise ModelError(
            f"{where}: expected text with `__global__ void update(int num_comps, ...)`"
        )
    refused = _OF_THE_PROCESS.search(re.sub(r'"[^"\n]*"', _blank, _COMMENT.sub(_blank, text)))
    if refused:
        line = text.count("\n", 0, refused.start()) + 1
        raise ModelError(
            f"{where}, line {line}: '{refused.group()}' is not possible in a kernel, which neither "
            f"ends the program nor owns memory; arrays of a fixed size and internals hold numbers"
        )
    return where, bare, filled_in(text, types(spec, signature), where)


def _blank(match: re.Match[str]) -> str:
    """Return spaces instead of a text, in as many lines."""
    return re.sub(r"[^\n]", " ", match.group())


def described(spec: KernelSpec, signature: Signature) -> str:
    """Return the call as the user would write it, for what a compiler says of it."""
    inputs = [f"input_{a.name}" for a in spec.model.accesses]
    params = [f"param_{p}" for p in signature.params]
    internals = [f"internal_{s}" for s in signature.internals]
    updates = [f"update_{v}" for v in spec.model.updates]
    names = ", ".join(["num_comps", "dt", "steps", *inputs, *params, *internals, *updates])
    return f"call of {spec.model.__name__}'s update({names})"


def _one_pass(text: str) -> str:
    """Write the loop over sub-steps as one pass; compilers do not, and then use no vectors."""
    name = _THIRD.search(text)
    if name is None or re.search(r"\b(?:break|continue|goto)\b", text):
        return text
    loop = r"\bfor\s*\(\s*int\s+(\w+)\s*=\s*0\s*;\s*\1\s*<\s*{}\s*;\s*(?:\+\+\s*\1|\1\s*\+\+)\s*\)"
    return re.sub(loop.format(name.group(1)), r"if (int \1 = 0; true)", text)


def _independent(text: str) -> str:
    """Say of each loop over the grid that its passes are independent, as on a GPU they are."""
    strides = ["gridDim", *_STRIDE.findall(text)]
    begins = []
    for match in _LOOP.finditer(text):
        parts = text[match.end() : _closing(text, match.end())].split(";")
        if len(parts) == 3 and any(re.search(rf"\+=.*\b{s}\b", parts[2]) for s in strides):
            begins.append(match.start())
    for at in reversed(begins):
        text = f'{text[:at]}_Pragma("GCC ivdep") {text[at:]}'
    return text


def _closing(text: str, at: int) -> int:
    """Return where the parenthesis that was opened before ``at`` ends."""
    depth = 1
    while at < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at - 1


def _user_text(text: str, where: str) -> str:
    """Return a user's text in a namespace of its own; its macros end with it."""
    headers: list[str] = []

    def hoist(match: re.Match[str]) -> str:
        name = match.group(1)
        if name.startswith(_DEVICE_ONLY):
            what = "which the CPU does not have; a declared model can draw uniform() and normal()"
            raise ModelError(f"{where}: the text includes <{name}>, {what}")
        if not name.startswith(("cuda", "math_constants", "device_", "vector_")):
            headers.append(f"#include <{name}>")
        return ""

    text = INCLUDE.sub(hoist, text)
    if "printf" in text:
        headers.append("#include <stdio.h>")
    grid = "static constexpr nd_extent gridDim{};"
    return "\n".join(
        [*dict.fromkeys(headers), "namespace nd_user { namespace {",
         header("codegen/cuda_on_cpu.h"), header("codegen/cuda_functions.h"),
         grid, f'#line 1 "{where}"', text, "} }", *ends(text)]
    )  # fmt: skip


def ends(text: str) -> list[str]:
    """Return the ends of the macros that a text defines."""
    return [f"#undef {name}" for name in dict.fromkeys(_DEFINE.findall(text))]


def _body(component: ComponentText, signature: Signature, strides: bool) -> list[str]:
    """Return the function that sums the inputs, tile by tile, and calls the user's."""
    a, model = component.arguments, component.model
    sums = [plain_text(component, access) for access in model.accesses]
    head = [line for s in sums for line in s.head()]
    for name in named(model.params, component.texts.each(*model.accesses)):
        head.append(f"ND_FIXED(real) nd_p_{name} = {a.pointer(component.spec.parameter(name))};")
    inputs = [a.pointer(component.spec.input_sum(s.access.name), "real") for s in sums]
    given = [f"{pointer} + nd_t" for pointer in inputs]
    at = "nd_t + nd_i"
    fill = [f"nd_x_{s.access.name}[nd_i] = {s.direct(f'({at})', 'nd_i')};" for s in sums]
    places = [
        f"real *__restrict nd_x_{s.access.name} = {p};" for s, p in zip(sums, given, strict=True)
    ]
    loop = "for (int nd_i = 0; nd_i < nd_m; ++nd_i)"
    tile = [TILE, *tile_sums(sums)]
    if sums:
        tile += variants(sums, lambda: block("", [*places, "ND_SIMD", *block(loop, fill)]))
    columns = [*inputs, *given_columns(component, signature)]
    tile += _call(component, columns, strides)
    for name in model.updates:
        if component.spec.is_event(name):
            tile += _note(component, name)
    return [*head, *block(TILES, tile)]


def given_columns(component: ComponentText, signature: Signature) -> list[str]:
    """Return what a template's function is given after the inputs."""
    a, columns = component.arguments, []
    for name in signature.params:
        kind = "int" if name in signature.integers else "real"
        columns.append(a.pointer(component.spec.parameter(name), kind))
    states = [component.spec.key(Kind.STATE, name) for name in signature.internals]
    columns += [a.pointer(key, "real") for key in states]
    return [*columns, *[row_of(component, name) for name in component.model.updates]]


def row_of(component: ComponentText, name: str) -> str:
    """Return the address of the group's segment in the row that is written."""
    a = component.arguments
    rows, number, length = a.pointer(component.spec.ring(name), "real"), depth(name), width(name)
    shape = f"{a.integer(number)}, {a.integer(length)}"
    start = a.integer(component.spec.segment(name, "start"))
    return f"nd_row({rows}, nd_k + 1, {shape}) + {start}"


def _call(component: ComponentText, columns: Sequence[str], strides: bool) -> list[str]:
    """Return the call for one tile: at once, or for one component after the other."""
    a = component.arguments
    dt = a.scalar(component.spec.dt)
    steps = str(component.spec.substeps)  # known: one needs no loop
    if strides:
        count = "(int)(nd_t + nd_m)"
        call = f"nd_user::update({', '.join([count, dt, steps, *columns])});"
        return ["nd_user::blockIdx.x = (unsigned int)nd_t;", call]
    count = f"(int){a.integer(component.spec.components)}"
    call = f"nd_user::update({', '.join([count, dt, steps, *columns])});"
    each = ["nd_user::blockIdx.x = (unsigned int)(nd_t + nd_i);", call]
    return block("for (int nd_i = 0; nd_i < nd_m; ++nd_i)", each)


def _note(component: ComponentText, name: str) -> list[str]:
    """Mark a row that holds events: unmarked rows are not read."""
    a = component.arguments
    active, rows = a.pointer(activity(name, "active"), "long long"), a.integer(depth(name))
    return block("", [
        f"const real *nd_events = {row_of(component, name)} + nd_t;",
        "int nd_here = 0;",
        "ND_SIMD_ANY",
        "for (int nd_i = 0; nd_i < nd_m; ++nd_i) nd_here |= nd_events[nd_i] != 0;",
        f"if (nd_here) nd_mark({active}, nd_k + 1, {rows});",
    ])  # fmt: skip
