"""Pairs of spikes beside a sum of weights that is kept."""

from neurodriver.model.component import Parameter

from .pair_stdp import PairSTDP


class NormalisedSTDP(PairSTDP):
    """PairSTDP whose weights are scaled at intervals: those of a target then sum to ``total``.

    Every ``interval``, each weight is multiplied by ``total`` over the sum of all weights of its
    target. The bounds do not limit it there. A spike carries w_max at most, unless the projection
    has a larger ``largest``.
    """

    reference = (
        "Song, Miller & Abbott 2000, Nat Neurosci 3:919-926, doi:10.1038/78829; "
        "Miller & MacKay 1994, Neural Comput 6:100-126, doi:10.1162/neco.1994.6.1.100"
    )
    params = {
        "interval": Parameter("ms", default=100.0, above=0.0, doc="between two scalings"),
        "total": Parameter("", default=1.0, above=0.0, doc="sum of the weights of a target"),
    }
    every = {
        "interval": """
            sum_of_weights = sum(weight);
            weight *= sum_of_weights != 0 ? total / sum_of_weights : 1;
        """
    }
