"""A kernel from the words of a command line."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from distkern.cli.common import F, options
from distkern.core.errors import DistkernError

if TYPE_CHECKING:
    from distkern.kernels.base import Kernel


def kernel_choice(*, required: bool) -> Callable[[F], F]:
    """Options that name a kernel and its parameters."""
    return options(
        click.option(
            "--kernel",
            metavar="NAME|JSON",
            required=required,
            help="kendall, mallows, linear, polynomial, gaussian, ... or a JSON spec such as "
            '\'{"kernel": "mallows", "lam": 2}\', which can join kernels.',
        ),
        click.option("--ties", metavar="WORD", help="Short for --param ties=WORD; for kendall: zero or b (tau-b)."),
        click.option(
            "--param",
            "params",
            metavar="NAME=VALUE",
            multiple=True,
            help="A parameter of the kernel, such as lam=2 or scaled=true; may be repeated.",
        ),
    )


kernel_options = kernel_choice(required=True)


def kernel_of(kernel: str, ties: str | None, params: tuple[str, ...]) -> Kernel:
    """Build the kernel that the options describe.

    Raises
    ------
    click.BadParameter
        If there is no such kernel or parameter, or a value is not one for it.

    Examples
    --------
    >>> kernel_of("mallows", None, ("lam=2", "scaled=true"))
    Mallows(lam=2, scaled=True, ties='embedding')
    """
    from distkern.kernels.registry import from_spec  # loads numba, which takes a second

    spec = _spec(kernel) | dict(map(_parameter, params)) | ({} if ties is None else {"ties": ties})
    _check_names(spec)
    try:
        return from_spec(spec)
    except DistkernError as error:
        raise _bad(str(error)) from error


def _spec(kernel: str) -> dict[str, Any]:
    text = kernel.strip()
    if not text.startswith("{"):
        return {"kernel": text}
    try:
        spec: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError as error:
        raise _bad(f"the JSON spec cannot be read ({error}); quote it for the shell in '...'") from error
    if not isinstance(spec.get("kernel"), str):
        raise _bad('the JSON spec needs the name of the kernel, as in {"kernel": "kendall"}')
    return spec


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not (name.strip() and equals):
        raise click.BadParameter(f"write NAME=VALUE, such as lam=2, not {text!r}", param_hint="'--param'")
    value = value.strip()
    try:
        return name.strip(), json.loads({"True": "true", "False": "false"}.get(value, value))
    except json.JSONDecodeError:
        return name.strip(), value


def _check_names(spec: dict[str, Any]) -> None:
    """Say which kernels and parameters there are, where the registry could only say that one is not."""
    from distkern.kernels.registry import KERNELS

    kernel = KERNELS.get(spec["kernel"])
    if kernel is None:
        raise _bad(f"there is no kernel {spec['kernel']!r}; there are {', '.join(sorted(KERNELS))}")
    fields = {field.name: field for field in dataclasses.fields(kernel)}
    for name, value in spec.items():
        if name == "kernel":
            continue
        if name not in fields:
            named = ", ".join(fields) or "none"
            raise _bad(f"the kernel {spec['kernel']!r} has no parameter {name!r}; it has {named}")
        default = fields[name].default
        if isinstance(default, bool) and not isinstance(value, bool):
            raise _bad(f"the parameter {name!r} is true or false, not {value!r}")
        if isinstance(default, (int, float)) and not isinstance(value, (int, float)):
            raise _bad(f"the parameter {name!r} is a number, not {value!r}")


def _bad(message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint="'--kernel'")
