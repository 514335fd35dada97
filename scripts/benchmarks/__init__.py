"""Cases of ``scripts/bench.py``: one module each, the peer in the same run."""
