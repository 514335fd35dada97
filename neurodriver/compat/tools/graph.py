"""A graph of networkx -> tables of its nodes and edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...results.export import needed

if TYPE_CHECKING:
    import pandas


def graph_to_df(g: Any) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Return the attributes of nodes and edges as two tables.

    Parameters
    ----------
    g : networkx graph
        Of any kind.

    Returns
    -------
    node frame : pandas.DataFrame
        A line per node, index: its id.
    edge frame : pandas.DataFrame
        A line per edge, index: source, target and, in multigraphs, key. What a node or an edge
        does not have is not a number.
    """
    pd = needed("pandas")
    nodes = pd.DataFrame(
        [dict(data) for _, data in g.nodes(data=True)],
        index=pd.Index([node for node, _ in g.nodes(data=True)], tupleize_cols=False),
    )
    edges: list[tuple[tuple[Any, ...], Any]]
    if g.is_multigraph():
        edges = [((u, v, key), data) for u, v, key, data in g.edges(keys=True, data=True)]
    else:
        edges = [((u, v), data) for u, v, data in g.edges(data=True)]
    levels = [list(level) for level in zip(*(ends for ends, _ in edges), strict=True)]
    levels = levels or [[]] * (3 if g.is_multigraph() else 2)
    index = pd.MultiIndex.from_arrays(levels)
    return nodes, pd.DataFrame([dict(data) for _, data in edges], index=index)
