"""The language of the mathematics of models and rules: parse, check, print.

    from neurodriver.model.language import Symbol, assigned, check, parse, to_text, used

    source = "trace += 1; w = fmin(w + rate * post, w_max);"
    tree = parse(source, where="MyRule.on_arrival")
    table = {"trace": Symbol("state", unit="1", writable=True), "rate": Symbol("parameter"), ...}
    found = check(tree, table, source, where="MyRule.on_arrival")
    raise_faults(found.faults)          # one ModelError with all faults, each with line and column
    used(tree), assigned(tree)          # names that it reads or writes; names that it assigns to
    backward_slice(tree, ["w"])         # the part of a text that the last value of w depends on
    to_text(tree)                       # the text of a tree

`parse` reads statements, `parse_expression` one expression, `parse_functions` functions. They raise
ModelError at the first fault of the grammar. A tree does not say what its names mean: that is in
the table of `Symbol` that `check` is given. `Printer` writes a tree in other words, for instance in
C (`neurodriver.codegen.translate`), and `evaluated` computes it with NumPy.
"""

from . import tree
from .check import check, raise_faults
from .check_values import Checked, Reach, Symbol
from .names import assigned, assignments, declared, draws, prints, used
from .parser import parse, parse_expression, parse_functions
from .printer import Printer, renamed_text, to_text
from .slices import Slice, backward_slice

__all__ = [
    "Checked",
    "Printer",
    "Reach",
    "Slice",
    "Symbol",
    "assigned",
    "assignments",
    "backward_slice",
    "check",
    "declared",
    "draws",
    "parse",
    "parse_expression",
    "parse_functions",
    "prints",
    "raise_faults",
    "renamed_text",
    "to_text",
    "tree",
    "used",
]
