"""Circuits that are built from published data."""
