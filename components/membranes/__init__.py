"""Graded membranes."""
