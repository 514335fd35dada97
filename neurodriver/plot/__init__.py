"""What figures and movies are made of."""

from .movie import Movie as Movie
