"""Relations as compiled code takes them (``native/projection_space.h``)."""

from __future__ import annotations

import ctypes as ct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .formula import Formula
from .relation import AxisRuns, Relation, firsts_of

_integer, _real, _array = ct.c_longlong, ct.c_double, ct.c_void_p


class _AxisStruct(ct.Structure):
    _fields_ = [(name, _integer) for name in ("sources", "targets", "kinds")]
    _fields_ += [(name, _array) for name in ("begin", "low", "high", "from_", "to")]
    _fields_ += [("period", _real), ("jump", _array), ("first", _array), ("at_source", _integer)]


class SpaceStruct(ct.Structure):
    _fields_ = [(name, _integer) for name in ("dims", "first_source", "first_target", "autapses")]
    _fields_ += [(name, _array) for name in ("axes", "point", "cell")]
    _fields_ += [("squared", _real)]
    _fields_ += [(name, _array) for name in ("from_", "to", "period", "origin", "width")]
    _fields_ += [(name, _array) for name in ("bins", "begin", "listed", "which", "factor")]
    _fields_ += [("offsets", _integer), ("formula", _array * 2)]
    _fields_ += [("indexed", _integer * 2), ("fields", _array * 2), ("count", _integer * 2)]


class NativeRelation:
    """Holds the arrays that a structure points to.

    Parameters
    ----------
    offsets : (int, int)
        Numbers of the first source and the first target within their populations.
    formulas : (Formula or None, Formula or None)
        Of weights and of delays.
    """

    def __init__(
        self,
        relation: Relation,
        offsets: tuple[int, int],
        autapses: bool,
        formulas: tuple[Formula | None, Formula | None],
    ) -> None:
        self._kept: list[Any] = []
        made = [self._axis(relation, axis) for axis in relation.axes]
        axes = (_AxisStruct * max(len(made), 1))(*made)
        self._kept.append(axes)
        tables = relation.tables
        self.struct = SpaceStruct(
            dims=len(relation.names),
            first_source=offsets[0],
            first_target=offsets[1],
            autapses=autapses,
            axes=ct.addressof(axes),
            point=self._at(relation.point, np.int32),
            cell=self._at(relation.cell, np.int32),
            squared=relation.squared,
            from_=self._at(tables.get("from"), np.float64),
            to=self._at(tables.get("to"), np.float64),
            period=self._at(tables.get("period"), np.float64),
            origin=self._at(tables.get("origin"), np.float64),
            width=self._at(tables.get("width"), np.float64),
            bins=self._at(tables.get("bins"), np.int64),
            begin=self._at(tables.get("begin"), np.int64),
            listed=self._at(tables.get("listed"), np.int32),
            which=self._at(tables.get("which"), np.int32),
            factor=self._at(tables.get("factor"), np.float64),
            offsets=len(tables.get("factor", ())),
        )
        for number, formula in enumerate(formulas):
            if formula is not None:
                library = formula.compiled(relation.names)
                self._kept.append(library)
                self.struct.formula[number] = ct.cast(library.nd_formula, _array).value
                fields = [self._at(one, np.float64) for one in formula.arrays]
                at = (_array * max(len(fields), 1))(*fields)
                self._kept.append(at)
                self.struct.fields[number] = ct.addressof(at)
                self.struct.count[number] = len(fields)
                self.struct.indexed[number] = formula.indexed

    def _axis(self, relation: Relation, axis: AxisRuns) -> _AxisStruct:
        jump = relation.tables.get(f"jump {axis.name}")
        source, target = axis.places or (None, None)
        return _AxisStruct(
            axis.sources,
            axis.targets,
            1 if jump is None else jump.shape[1],
            self._at(axis.begin, np.int64),
            self._at(axis.low, np.int32),
            self._at(axis.high, np.int32),
            self._at(source, np.float64),
            self._at(target, np.float64),
            axis.period or 0.0,
            self._at(jump, np.int32),
            self._at(firsts_of(axis), np.int64),
            axis.name not in relation.target.names,
        )

    def _at(self, values: NDArray[Any] | None, dtype: Any) -> int | None:
        if values is None:
            return None
        array = np.ascontiguousarray(values, dtype=dtype)
        self._kept.append(array)
        return array.ctypes.data
