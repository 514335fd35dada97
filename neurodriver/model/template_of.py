"""Declared mathematics -> a kernel template in the old style, for those who build on its text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..errors import ModelError
from .language import Translator, texts_of, used
from .text import block, indent

if TYPE_CHECKING:
    from .component import NDComponent

_FUNCTION = re.compile(r"\bnd_([a-z][a-z0-9]*)\(")


def template_of(model: type[NDComponent]) -> str:
    """Return the CUDA text of a declared model, with the placeholders of the old style.

    Parameters
    ----------
    model : NDComponent subclass

    Raises
    ------
    ModelError
        For a model that draws random numbers or gives connections a sum of their own.
    """
    name = model.__name__
    if model.draws_random() or any(a.each for a in model.accesses):
        raise ModelError(
            f"{name}: no template can say what it does (random numbers, or numbers of connections)"
        )
    if not any(texts_of(model).values()):
        raise ModelError(f"{name}: no mathematics is declared; override get_update_template")
    names = list(model.internals)
    takes = [f"%(input_{a.name})s *nd_input_{a.name}" for a in model.accesses]
    takes += [f"%(param_{p})s *nd_param_{p}" for p in model.params]
    takes += [f"%(internal_{s})s *nd_internal_{s}" for s in names]
    takes += [f"%(update_{v})s *nd_update_{v}" for v in model.updates]
    head = ["__global__ void update(", "    int num_comps,", "    %(dt)s dt,", "    int steps"]
    head = [*head[:-1], "    int steps,", *[f"    {t}," for t in takes]]
    head[-1] = head[-1].removesuffix(",") + ")"
    begin = "int nd_i = threadIdx.x + blockIdx.x * blockDim.x"
    loop = f"for ({begin}; nd_i < num_comps; nd_i += gridDim.x * blockDim.x)"
    body = ["typedef %(dt)s real;", "const real dt_ms = dt * 1000;", *block(loop, _one(model))]
    return "\n".join([*head, "{", *indent(body), "}", ""])


def place_of(model: type[NDComponent], state: str) -> str:
    """Return where a template keeps a state: an internal state, or a parameter's array."""
    if state in model.updates:
        return f"nd_internal_internal{state}"
    return f"nd_param_{state}" if state in model.params else f"nd_internal_{state}"


def _one(model: type[NDComponent]) -> list[str]:
    """Return the loads, the sub-steps and the stores of one component."""
    translator = Translator(model, "float64")
    translator.suffix = "%(fletter)s"
    fixed = model.fixed_params()
    known = [*fixed, *model.constants, *model.states, *model.updates]
    known += [model.input_symbol(a) for a in model.accesses]
    texts = [*texts_of(model).values(), *model.constants.values()]

    def said(text: str, where: str) -> str:
        return _FUNCTION.sub(r"\1%(fletter)s(", translator.text(text, known, where))

    lines = [f"const real {p} = nd_param_{p}[nd_i];" for p in used(fixed, texts)]
    lines += [
        f"const real {model.input_symbol(a)} = nd_input_{a.name}[nd_i];" for a in model.accesses
    ]
    lines += [f"real {s} = {place_of(model, s)}[nd_i];" for s in model.states]
    lines += [
        f"const real {n} = {said(t, f'constants[{n!r}]')};" for n, t in model.constants.items()
    ]
    flags = [v for v in model.updates if v not in model.states]
    lines += [f"real {v} = 0;" for v in flags]
    inner = []
    for name, text in model.terms.items():
        inner.append(f"const real {name} = {said(text, f'terms[{name!r}]')};")
        known.append(name)
    update = said(model.update, "update")
    inner += [line.strip() for line in update.splitlines() if line.strip()]
    lines += ["const int substeps = steps; (void)substeps;"]
    lines += block("for (int substep = 0; substep < steps; ++substep)", inner)
    lines += [f"{v} = {said(t, f'outputs[{v!r}]')};" for v, t in model.outputs.items()]
    lines += [f"{place_of(model, s)}[nd_i] = {s};" for s in model.states]
    return lines + [f"nd_update_{v}[nd_i] = {v};" for v in model.updates]
