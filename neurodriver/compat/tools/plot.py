"""Images and drawings of graphs, shown in the present figure of pyplot."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import NeurodriverError
from ...plot.style import matplotlib


def imdisp(f: str | os.PathLike[str]) -> Any:
    """Show an image file without axes; return its pixels."""
    matplotlib()
    import matplotlib.pyplot as plt

    pixels = plt.imread(os.fspath(f))
    plt.imshow(pixels)
    plt.axis("off")
    plt.draw()
    return pixels


def show_pydot(g: Any) -> None:
    """Draw a graph of networkx with pydot and Graphviz, and show it.

    Raises
    ------
    NeurodriverError
        Without pydot or Graphviz.
    """
    try:
        import networkx

        drawing = networkx.nx_pydot.to_pydot(g)
    except ImportError as error:
        raise NeurodriverError("show_pydot needs Graphviz and: pip install pydot") from error
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "graph.png"
        try:
            drawing.write_png(str(picture))
        except (OSError, AssertionError) as error:
            raise NeurodriverError(f"show_pydot: Graphviz failed: {error}") from error
        imdisp(picture)


def show_pygraphviz(
    g: Any,
    prog: str = "dot",
    graph_attr: Mapping[str, Any] | None = None,
    node_attr: Mapping[str, Any] | None = None,
    edge_attr: Mapping[str, Any] | None = None,
) -> None:
    """Draw a graph of networkx with PyGraphviz, and show it.

    Parameters
    ----------
    prog : str
        Program of Graphviz that lays the graph out.
    graph_attr, node_attr, edge_attr : mapping, optional
        Attributes of Graphviz for the graph, all nodes, all edges.

    Raises
    ------
    NeurodriverError
        Without PyGraphviz or Graphviz.
    """
    try:
        import networkx

        drawing = networkx.nx_agraph.to_agraph(g)
    except ImportError as error:
        message = "show_pygraphviz needs Graphviz and: pip install pygraphviz"
        raise NeurodriverError(message) from error
    for own, given in (("graph_attr", graph_attr), ("node_attr", node_attr)):
        getattr(drawing, own).update(given or {})
    drawing.edge_attr.update(edge_attr or {})
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "graph.png"
        try:
            drawing.draw(str(picture), prog=prog)
        except (OSError, ValueError) as error:
            raise NeurodriverError(f"show_pygraphviz: Graphviz failed: {error}") from error
        imdisp(picture)
