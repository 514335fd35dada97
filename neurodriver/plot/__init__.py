"""What figures and movies are made of."""

from .learning import plot_learning as plot_learning
from .learning import plot_receptive_fields as plot_receptive_fields
from .movie import Movie as Movie
