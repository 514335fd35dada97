"""A folder of Python's path: what is in it is found by processes that an old script starts."""
