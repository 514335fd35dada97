"""Sum of the currents of gap junctions."""

from neurodriver.model.component import Access, NDComponent, Parameter
from neurodriver.model.kinds import VariableKind


class GapJunctions(NDComponent):
    """Current of all gap junctions of one cell.

    ``I = sum_j conductance_j (V_j - V)``: potential ``V_j`` of each neighbour, ``conductance_j`` of
    its edge, and potential ``V`` of the cell that receives the current. One is inserted wherever
    an edge with ``variable`` V and a ``conductance`` leads from a cell straight to a cell that
    accesses ``I``. A junction that conducts both ways is two edges, one for each direction.

    Limits: I lags the potentials by one step, so ``conductance dt / C`` well below 1.
    """

    reference = (
        "Connors & Long 2004, Annu Rev Neurosci 27:393-418, "
        "doi:10.1146/annurev.neuro.26.041002.131128"
    )
    accesses = (
        Access("V", receptor="own", single=True),
        Access(
            "V",
            receptor="neighbour",
            each="conductance * (V - own)",
            connection={
                "conductance": Parameter("mS/cm^2", at_least=0.0, doc="of the gap junction")
            },
            accumulate="double",
        ),
    )
    updates = ("I",)
    converts = VariableKind.POTENTIAL
    update = """
        I = neighbour;
    """
