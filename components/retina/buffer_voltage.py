"""Buffer of a membrane potential."""

from neurodriver.model.component import NDComponent


class BufferVoltage(NDComponent):
    """Passes a potential on, one step later: ``V[k + 1]`` is the input at step k.

    Row 0, and so the first row that is read of it, is 0 mV, whatever the source starts from.

    Limits: several connections add up; the old library took the first and let the others go.
    """

    reference = "Lazar, Psychas, Ukani & Zhou 2015, Neurokernel RFC 3, doi:10.5281/zenodo.30036"
    accesses = ("V",)
    updates = ("V",)
    update = """
        V = input_V;
    """
