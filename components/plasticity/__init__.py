"""Rules of plasticity: how the synapses of a projection learn."""

from .bcm_rule import BCMRule as BCMRule
from .centred_stdp import CentredSTDP as CentredSTDP
from .clopath_stdp import ClopathSTDP as ClopathSTDP
from .covariance_rule import CovarianceRule as CovarianceRule
from .diehl_cook_stdp import DiehlCookSTDP as DiehlCookSTDP
from .hebb_rule import HebbRule as HebbRule
from .homeostatic_stdp import HomeostaticSTDP as HomeostaticSTDP
from .inhibitory_stdp import InhibitorySTDP as InhibitorySTDP
from .interval_rewarded_stdp import IntervalRewardedSTDP as IntervalRewardedSTDP
from .nearest_stdp import NearestSTDP as NearestSTDP
from .nearest_triplet_stdp import NearestTripletSTDP as NearestTripletSTDP
from .normalised_stdp import NormalisedSTDP as NormalisedSTDP
from .oja_rule import OjaRule as OjaRule
from .pair_stdp import PairSTDP as PairSTDP
from .power_law_stdp import PowerLawSTDP as PowerLawSTDP
from .restricted_stdp import RestrictedSTDP as RestrictedSTDP
from .rewarded_stdp import RewardedSTDP as RewardedSTDP
from .short_term import ShortTerm as ShortTerm
from .triplet_stdp import TripletSTDP as TripletSTDP
from .weighted_stdp import WeightedSTDP as WeightedSTDP
