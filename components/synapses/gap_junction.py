"""Gap junction, one direction of it."""

from neurodriver.model.component import Access, NDComponent, Parameter


class GapJunction(NDComponent):
    """Current that one cell sends into another through a gap junction.

    ``I = conductance (V_pre - V_post)``. Its three edges: from the cell that sends with
    ``receptor`` pre, from the cell that receives with ``receptor`` post, and to the cell that
    receives. A junction that conducts both ways is two of them; GapJunctions needs fewer words.

    Limits: I lags the potentials by one step, so ``conductance dt / C`` well below 1.
    """

    reference = (
        "Connors & Long 2004, Annu Rev Neurosci 27:393-418, "
        "doi:10.1146/annurev.neuro.26.041002.131128"
    )
    accesses = (
        Access("V", receptor="pre", single=True),
        Access("V", receptor="post", single=True),
    )
    updates = ("I",)
    params = {"conductance": Parameter("mS/cm^2", at_least=0.0, doc="conductance of the junction")}
    update = """
        I = conductance * (pre - post);
    """
