"""Rules of plasticity: how the synapses of a projection learn."""

from .centred_stdp import CentredSTDP as CentredSTDP
from .diehl_cook_stdp import DiehlCookSTDP as DiehlCookSTDP
from .inhibitory_stdp import InhibitorySTDP as InhibitorySTDP
from .interval_rewarded_stdp import IntervalRewardedSTDP as IntervalRewardedSTDP
from .nearest_stdp import NearestSTDP as NearestSTDP
from .nearest_triplet_stdp import NearestTripletSTDP as NearestTripletSTDP
from .normalised_stdp import NormalisedSTDP as NormalisedSTDP
from .pair_stdp import PairSTDP as PairSTDP
from .power_law_stdp import PowerLawSTDP as PowerLawSTDP
from .restricted_stdp import RestrictedSTDP as RestrictedSTDP
from .rewarded_stdp import RewardedSTDP as RewardedSTDP
from .short_term import ShortTerm as ShortTerm
from .triplet_stdp import TripletSTDP as TripletSTDP
from .weighted_stdp import WeightedSTDP as WeightedSTDP
