"""A batch on a GPU makes its parts itself: it has all that the methods of the backend read."""

from __future__ import annotations

import ast
import inspect

from neurodriver.backends.cuda.backend import CUDABackend
from neurodriver.backends.cuda.batch import CUDABatch


def own(kind: type, context: type[ast.expr_context]) -> set[str]:
    """Return the attributes of ``self`` that the methods of a class read, or set."""
    tree = ast.parse(inspect.getsource(kind))
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, context)
        and isinstance(node.value, ast.Name) and node.value.id == "self"
    }  # fmt: skip


def test_a_batch_has_what_the_backend_reads() -> None:
    read = own(CUDABackend, ast.Load) & own(CUDABackend, ast.Store)
    assert len(read) > 20
    missing = read - own(CUDABatch, ast.Store) - {*vars(CUDABatch)}
    assert missing <= {"_found"}, "which is set by the time that events are read"
