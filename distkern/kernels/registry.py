"""From the spec of a kernel to its class: our kernels by name, kernels of users by module and name."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from distkern import kernels
from distkern.core.errors import InputError, InputTypeError, KernelNotFoundError
from distkern.core.suggest import did_you_mean
from distkern.core.typing import Spec
from distkern.kernels.base import Kernel, is_ours


@cache
def our_kernels() -> dict[str, type[Kernel]]:
    """Kernels of distkern by name, in alphabetical order; loads every module that defines some."""
    found: dict[str, type[Kernel]] = {}
    for module in pkgutil.walk_packages(kernels.__path__, f"{kernels.__name__}."):
        if module.name != __name__:
            found |= _defined_in(import_module(module.name))
    return dict(sorted(found.items()))


def from_spec(spec: Spec) -> Kernel:
    """Build the kernel that ``kernel.spec()`` describes.

    A kernel of distkern is found by its name. The spec of any other kernel names its module too. The module is never
    imported here, since a spec may come from a stranger's file: it must have been imported in this process, and define
    the class at its top level.

    Parameters
    ----------
    spec
        The name under ``"kernel"``, the module of a kernel that is not part of distkern under ``"module"``, and the
        hyperparameters; a hyperparameter that is a kernel is a spec itself.

    Raises
    ------
    InputError
        If the name or a parameter is unknown.
    KernelNotFoundError
        If the module has not been imported, or does not define a kernel of that name.

    See Also
    --------
    Kernel.spec : The description.

    Examples
    --------
    >>> from_spec({"kernel": "kendall", "ties": "b"})
    Kendall(ties='b')
    """
    if not isinstance(spec, Mapping):
        raise InputTypeError(f"a spec is a dict with the name of the kernel under 'kernel', not {spec!r}")
    params = dict(spec)
    name = params.pop("kernel", None)
    found = _find(name, params.pop("module")) if "module" in params else our_kernels().get(str(name))
    if found is None or not isinstance(name, str):
        known = ", ".join(our_kernels())
        raise InputError(f"no kernel is called {name!r}; there are {known}{did_you_mean(name, our_kernels())}")
    params = {key: _value(value) for key, value in params.items()}
    try:
        return found(**params)
    except TypeError as error:
        raise InputError(f"the kernel {name!r} cannot be built from {params}: {error}") from error


def _value(value: Any) -> Any:
    """Build a hyperparameter from its JSON form, which has no tuples."""
    if isinstance(value, dict):
        return from_spec(value)
    return tuple(map(_value, value)) if isinstance(value, list) else value


def _defined_in(module: ModuleType) -> dict[str, type[Kernel]]:
    """Kernels that a module defines at its top level, by name; a class without a name of its own is none."""
    found: dict[str, type[Kernel]] = {}
    for value in vars(module).values():
        if not (isinstance(value, type) and issubclass(value, Kernel) and value.__module__ == module.__name__):
            continue
        name = vars(value).get("name", "")
        if name and found.setdefault(name, value) is not value:
            raise InputError(
                f"the module {module.__name__!r} defines two kernels called {name!r}, {found[name].__name__} and "
                f"{value.__name__}: give one of them another name"
            )
    return found


def _find(name: Any, module: Any) -> type[Kernel]:
    """Find a kernel that is not part of distkern in a module that this process has imported."""
    if not isinstance(name, str) or not isinstance(module, str) or is_ours(module):
        raise InputError(f"a spec names a kernel and the module that defines it, not {name!r} and {module!r}")
    if name in our_kernels():
        raise InputError(
            f"the module {module!r} has a kernel called {name!r}, which is the name of a kernel of distkern: give the "
            "class a name of its own"
        )
    loaded = sys.modules.get(module)
    if loaded is None:
        raise KernelNotFoundError(
            "the kernel {kernel!r} is defined in the module {module!r}, which this process has not imported: import "
            "{module} first",
            kernel=name,
            module=module,
        )
    defined = _defined_in(loaded)
    if name not in defined:
        raise KernelNotFoundError(
            "{place} defines no kernel called {kernel!r} at its top level in this process: define the class there "
            "under this name, or in a module that every process can import",
            place="the main script or notebook" if module == "__main__" else f"the module {module!r}",
            kernel=name,
            module=module,
        )
    return defined[name]
