"""Write the optic lobe of a small extent as a GEXF file, the form in which circuits are exchanged.

python scripts/make_optic_lobe_gexf.py --extent 3 -o data/circuits/optic_lobe_extent3.gexf.gz
"""

from __future__ import annotations

import argparse
import gzip
import io
from pathlib import Path

import networkx as nx

from neurodriver.circuits.optic_lobe import expand


def graph(extent: int) -> nx.DiGraph:
    """Return the circuit as a graph: a node for each cell, an edge for each connection."""
    lobe = expand(extent)
    uids = lobe.uids.tolist()
    out = nx.DiGraph(name=f"optic lobe of the fly, extent {extent}")
    for i, uid in enumerate(uids):
        out.add_node(
            uid,
            label=uid,
            **{"class": "GradedNeuron"},
            time_constant=float(lobe.time_constant[i]),
            bias=float(lobe.bias[i]),
        )
    for a, b, weight in zip(lobe.source, lobe.target, lobe.weight.tolist(), strict=True):
        out.add_edge(uids[a], uids[b], weight=weight)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extent", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    text = io.BytesIO()
    nx.write_gexf(graph(arguments.extent), text)
    with open(arguments.output, "wb") as stream:
        # no name and no time in the header: the same bytes from every run
        with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as zipped:
            zipped.write(text.getvalue())
    print(f"{arguments.output}: {arguments.output.stat().st_size / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
