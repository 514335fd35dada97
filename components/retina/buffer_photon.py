"""Buffer of a photon rate."""

from neurodriver.model.component import NDComponent


class BufferPhoton(NDComponent):
    """Passes a photon rate on, one step later: ``photon[k + 1]`` is the input at step k.

    Stands before the photoreceptors of an ommatidium that share its light. Row 0, and so the
    first row that is read of it, is 0 photons/s.

    Limits: several connections add up; the old library took the first and let the others go.
    """

    reference = "Lazar, Psychas, Ukani & Zhou 2015, Neurokernel RFC 3, doi:10.5281/zenodo.30036"
    accesses = ("photon",)
    updates = ("photon",)
    update = """
        photon = input_photon;
    """
