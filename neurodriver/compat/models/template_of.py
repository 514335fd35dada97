"""Declared mathematics -> a kernel template, for those who build on its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...codegen.translate import Translator
from ...errors import ModelError
from ...model.language.words import STEP
from ...model.text import block, indent
from ...model.texts import named, texts_of

if TYPE_CHECKING:
    from ...model.component import NDComponent


def template_of(model: type[NDComponent]) -> str:
    """Return the CUDA text of a declared model, with the placeholders of templates.

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
    if named([STEP], texts_of(model).step()):
        raise ModelError(f"{name}: no template can say what it does, which reads '{STEP}'")
    if not any(part.source for part in texts_of(model).step()):
        raise ModelError(f"{name}: no mathematics is declared; override get_update_template")
    names: list[str] = list(model.internals)  # type: ignore[attr-defined]
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


class _Template(Translator):
    """Writes CUDA text, where a placeholder stands for the suffix of single precision."""

    def __init__(self, model: type[NDComponent], dtype: str) -> None:
        super().__init__(model, dtype)
        self.suffix = "%(fletter)s"

    def elementary(self, name: str) -> str:
        """Return the name of an elementary function."""
        return f"{name}%(fletter)s"


def _one(model: type[NDComponent]) -> list[str]:
    """Return the loads, the sub-steps and the stores of one component."""
    translator = _Template(model, "float64")
    texts = texts_of(model)
    fixed = model.fixed_params()
    lines = [*translator.functions()]
    lines += [f"const real {p} = nd_param_{p}[nd_i];" for p in named(fixed, texts.parts.values())]
    lines += [
        f"const real {model.input_symbol(a)} = nd_input_{a.name}[nd_i];" for a in model.accesses
    ]
    lines += [f"real {s} = {place_of(model, s)}[nd_i];" for s in model.states]
    lines += [f"const real {n} = {translator.value(f'constants[{n!r}]')};" for n in model.constants]
    flags = [v for v in model.updates if v not in model.states]
    lines += [f"real {v} = 0;" for v in flags]
    inner = []
    for name in model.terms:
        inner.append(f"const real {name} = {translator.value(f'terms[{name!r}]')};")
    inner += translator.lines()
    lines += ["const int substeps = steps; (void)substeps;"]
    lines += block("for (int substep = 0; substep < steps; ++substep)", inner)
    lines += [f"{v} = {translator.value(f'outputs[{v!r}]')};" for v in model.outputs]
    lines += [f"{place_of(model, s)}[nd_i] = {s};" for s in model.states]
    return lines + [f"nd_update_{v}[nd_i] = {v};" for v in model.updates]
