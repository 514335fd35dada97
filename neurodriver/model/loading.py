"""Classes, modules, files and folders -> the models and the rules of plasticity users bring."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import ModelError
from .component import NDComponent, table
from .plasticity import Plasticity

Model = type[NDComponent]
Rule = type[Plasticity]


class ModelNotFound(ModelError, FileNotFoundError):
    """A path of models leads nowhere."""

    __str__ = Exception.__str__


def load_models(given: Any) -> list[Model]:
    """Return the models that are named in any of the usual ways.

    Parameters
    ----------
    given : NDComponent subclass, module, path, or nested sequence of these
        A module stands for the models that can be seen in it, and a package without any for
        all modules in it; a file for the models that it defines; a folder for all files in it
        and below. Files and folders inside that begin with ``_`` or ``.`` are skipped. Rules of
        plasticity may stand among the models; `load_rules` returns these.

    Returns
    -------
    list of NDComponent subclasses
        One for each name; a later one takes the place of an earlier one.

    Raises
    ------
    ModelError
        With the file and the reason, where one cannot be imported or holds no model.
    FileNotFoundError
        For a path that does not exist (it is a ModelError, too).
    """
    return list(table(one for one in _each(given) if issubclass(one, NDComponent)).values())


def load_rules(given: Any) -> list[Rule]:
    """Return the rules of plasticity among what `load_models` takes, one for each name."""
    found = (one for one in _each(given) if issubclass(one, Plasticity))
    return list({rule.__name__: rule for rule in found}.values())


def load_classes(given: Any) -> list[Model | Rule]:
    """Return models, then rules."""
    return [*load_models(given), *load_rules(given)]


def abstract(found: Model | Rule) -> bool:
    """Whether a class is a base of models or of rules, with nothing that it computes."""
    if issubclass(found, Plasticity):
        return found is Plasticity
    bare = found.runtime.empty and found.needs_code
    return found is NDComponent or found.abstract or bare


def usable(item: Any) -> bool:
    """Whether what a module has is a model or a rule; ``Base...`` and ``_...`` are none."""
    if not _known(item) or abstract(item):
        return False
    return re.match(r"_|Base[A-Z]", item.__name__) is None


def _known(item: Any) -> bool:
    return inspect.isclass(item) and issubclass(item, NDComponent | Plasticity)


def _each(given: Any) -> Iterator[Model | Rule]:
    if _known(given):
        if abstract(given):
            raise ModelError(f"models: {given.__name__} is a base of models; give a subclass of it")
        yield given
    elif isinstance(given, ModuleType):
        yield from _in_module(given)
    elif isinstance(given, str | Path) and str(given):
        yield from _in_path(Path(given).expanduser())
    elif isinstance(given, Iterable) and not isinstance(given, str | bytes):
        for one in given:
            yield from _each(one)
    else:
        want = "NDComponent subclasses, modules or paths"
        raise ModelError(f"models: expected {want}, got {given!r:.80}")


def _in_module(module: ModuleType) -> list[Model | Rule]:
    found = [item for item in vars(module).values() if usable(item)]
    if found:
        return found
    if not hasattr(module, "__path__"):
        raise ModelError(f"module {module.__name__}: has no subclass of NDComponent")
    for info in pkgutil.iter_modules(module.__path__, module.__name__ + "."):
        if info.name.rpartition(".")[2].startswith(("_", ".")):
            continue
        try:
            inner = importlib.import_module(info.name)
        except (Exception, SystemExit) as error:
            text = f"module {info.name}: cannot be imported ({error!r}){_hint(error)}"
            raise ModelError(text) from error
        if info.ispkg or any(map(usable, vars(inner).values())):
            found += _in_module(inner)
    return found


def _in_path(path: Path) -> list[Model | Rule]:
    if not path.exists():
        raise ModelNotFound(f"{path}: no such Python file or folder")
    if path.is_file():
        found = _in_file(path)
        if not found:
            raise ModelError(f"{path}: defines no subclass of NDComponent")
        return found
    found = []
    for file in sorted(_files_in(path)):
        found += _in_file(file)
    if not found:
        raise ModelError(f"{path}: no file in it defines a subclass of NDComponent")
    return found


MOST_FOLDERS = 1000
"""Folders within a folder of models; whoever names more has meant another one."""


def _files_in(path: Path) -> Iterator[Path]:
    """Yield the Python files in a folder and those below it, but for hidden ones.

    Raises
    ------
    ModelError
        For a folder with too many others.
    """
    for number, (folder, below, files) in enumerate(os.walk(path)):
        if number == MOST_FOLDERS:
            say = f"has more than {MOST_FOLDERS:,} folders; name the folder of the models"
            raise ModelError(f"{path}: {say}")
        below[:] = [name for name in below if not name.startswith(("_", "."))]
        for name in files:
            if name.endswith(".py") and not name.startswith(("_", ".")):
                yield Path(folder, name)


def _hint(error: BaseException) -> str:
    """Return what to do about an import that failed, where it is known."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("pycuda"):
        return "; its kernels take a GPU and `pip install 'neurodriver[gpu,pycuda]'`"
    return ""


def _in_file(path: Path) -> list[Model | Rule]:
    """Return the models that a file defines; its neighbours are there for its imports."""
    whole = path.resolve()
    mark = hashlib.sha256(str(whole).encode()).hexdigest()[:12]
    name = f"neurodriver_user_{whole.stem}_{mark}"
    spec = importlib.util.spec_from_file_location(name, whole)
    if spec is None or spec.loader is None:
        raise ModelError(f"{path}: is no Python file")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module
    sys.path.insert(0, str(whole.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        sys.modules.pop(name)
        if before is not None:
            sys.modules[name] = before
        if isinstance(error, ModelError):
            raise ModelError(f"{path}: {error}") from None
        if isinstance(error, Exception | SystemExit):
            raise ModelError(f"{path}: cannot be imported ({error!r}){_hint(error)}") from error
        raise
    finally:
        sys.path.remove(str(whole.parent))
    own = [item for item in vars(module).values() if usable(item)]
    return [item for item in own if item.__module__ == name]
