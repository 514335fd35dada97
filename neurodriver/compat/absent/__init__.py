"""Packages that old scripts import, where they are not installed.

Each submodule holds the names of one old module; `finder` makes the modules of that name.
"""
