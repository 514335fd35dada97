"""The legacy form, from before September 2016: its graphs, its models and its input files."""
