"""The kinds of the variables that models of this library share, by name."""

from __future__ import annotations

EVENT_VARIABLES = frozenset({"spike_state"})
"""Variables of events: zero nearly always, recorded as events, delivered by their sources."""
