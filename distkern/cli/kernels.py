"""The command line options that describe a kernel, and the kernel that they describe."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import click

from distkern.cli.common import F, options
from distkern.cli.wording import in_cli_words
from distkern.core.errors import DistkernError
from distkern.core.suggest import did_you_mean

if TYPE_CHECKING:
    from distkern.kernels.base import Kernel

NAMES = (
    *("kendall", "partial-kendall", "weighted-kendall", "smoothed-kendall", "mallows", "partial-mallows", "spearman"),
    *("pair-agreement", "equal-rank", "diffusion", "linear", "polynomial", "gaussian", "quantile-linear", "low-rank"),
    *("convolution", "mean-map", "kernel-bhattacharyya", "kernel-igv", "bhattacharyya", "generalized-variance"),
    *("exponential-family", "entropy", "table"),
)
"""Kernels that a shell completes, those for rankings first. They are written here because a shell does not wait until
they are loaded."""


_SPEC = (
    "kendall, mallows, linear, polynomial, gaussian, ... or a JSON spec such as "
    '\'{"kernel": "mallows", "lam": 2}\', which can join kernels.'
)
_VIEW = (
    "View the stored values as those of another kernel that follows from them, such as mallows where kendall was "
    "computed; a name or a JSON spec. Default: the kernel of the last `distkern gram` into the store."
)


def kernel_choice(*, required: bool, about: str = _SPEC) -> Callable[[F], F]:
    """Add the options that name a kernel and its parameters."""
    return options(
        click.option("--kernel", metavar="NAME|JSON", required=required, help=about, shell_complete=_completed),
        click.option("--ties", metavar="WORD", help="Short for --param ties=WORD; for kendall: zero or b (tau-b)."),
        click.option(
            "--param",
            "params",
            metavar="NAME=VALUE",
            multiple=True,
            help="A parameter of the kernel, such as lam=2 or scaled=true; base=linear if it is a kernel, and "
            "base__sigma=0.1 for a parameter of that kernel; may be repeated.",
        ),
    )


def _completed(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in NAMES if name.startswith(incomplete)]


kernel_options = kernel_choice(required=True)
view_options = kernel_choice(required=False, about=_VIEW)


def view_of(kernel: str | None, ties: str | None, params: tuple[str, ...]) -> dict[str, Kernel]:
    """Build the kernel that the options describe, as an argument of `open_store`; none where they name none.

    Raises
    ------
    click.UsageError
        If there are parameters, but no kernel.
    """
    if kernel is not None:
        return {"kernel": kernel_of(kernel, ties, params)}
    if ties is not None or params:
        given = "--ties" if ties is not None else "--param"
        raise click.UsageError(f"{given} is a parameter of a kernel: name the kernel with --kernel")
    return {}


def kernel_of(kernel: str, ties: str | None, params: tuple[str, ...]) -> Kernel:
    """Build the kernel that the options describe.

    Raises
    ------
    click.BadParameter
        If there is no such kernel or parameter, or a parameter does not take the value.

    Examples
    --------
    >>> kernel_of("mallows", None, ("lam=2", "scaled=true"))
    Mallows(lam=2, scaled=True, ties='embedding')
    >>> kernel_of("mean-map", None, ("base__sigma=0.1",)).base
    Gaussian(sigma=0.1)
    """
    from distkern.kernels.registry import from_spec  # loads numba, which takes a second

    given = dict(map(_parameter, params)) | ({} if ties is None else {"ties": ties})
    spec = _whole(_spec(kernel), given)
    try:
        return from_spec(spec)
    except DistkernError as error:
        raise _bad(in_cli_words(error) + _meant(spec)) from error


def _meant(spec: dict[str, Any]) -> str:
    """Suggest the word that a parameter was meant to be, where it is one of some words and is none of them."""
    from distkern.kernels.registry import our_kernels

    hints = get_type_hints(our_kernels()[spec["kernel"]]) if spec["kernel"] in our_kernels() else {}
    words = {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}
    wrong = (did_you_mean(spec[name], words[name]) for name in words if name in spec and spec[name] not in words[name])
    inner = (_meant(value) for value in spec.values() if isinstance(value, dict) and "kernel" in value)
    return next(filter(None, (*wrong, *inner)), "")


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


def _whole(spec: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Add parameters to a spec, those of an inner kernel as ``name__parameter``, and check all names."""
    from distkern.kernels.registry import our_kernels

    if "module" in spec:  # not a kernel of distkern: from_spec finds it, or says why not
        return spec | given
    if spec["kernel"] not in our_kernels():
        raise _bad(_unknown("there is no kernel", spec["kernel"], our_kernels(), "there are"))
    fields = {field.name: field for field in dataclasses.fields(our_kernels()[spec["kernel"]])}
    own = spec | {name: value for name, value in given.items() if "__" not in name}
    deeper = [(*name.partition("__")[::2], value) for name, value in given.items() if "__" in name]
    for name in [*own, *(outer for outer, _, _ in deeper)]:
        if name != "kernel" and name not in fields:
            raise _bad(_unknown(f"the kernel {spec['kernel']!r} has no parameter", name, fields, "it has"))
    for name, field in fields.items():
        inner = {key: value for outer, key, value in deeper if outer == name}
        if str(field.type).startswith("Kernel") and (name in own or inner):
            own[name] = _whole(_inner(own.get(name), field), inner)
        elif inner:
            raise _bad(f"the parameter {name!r} of the kernel {spec['kernel']!r} is no kernel and has no parameters")
        elif name in own:
            _check_kind(name, own[name], field.default)
    return own


def _inner(value: Any, field: dataclasses.Field[Any]) -> dict[str, Any]:
    """Spec of a kernel that is a parameter, from its name or its spec; the default if neither is given."""
    if value is None and field.default_factory is not dataclasses.MISSING:
        spec: dict[str, Any] = field.default_factory().spec()
        return spec
    if isinstance(value, dict) and isinstance(value.get("kernel"), str):
        return value
    if not isinstance(value, str):
        raise _bad(f"the parameter {field.name!r} is a kernel: give its name, such as {field.name}=linear")
    return {"kernel": value}


def _check_kind(name: str, value: Any, default: Any) -> None:
    if isinstance(default, bool) and not isinstance(value, bool):
        raise _bad(f"the parameter {name!r} is true or false, not {value!r}")
    if isinstance(default, (int, float)) and not isinstance(value, (int, float)):
        raise _bad(f"the parameter {name!r} is a number, not {value!r}")


def _unknown(fault: str, word: Any, known: Iterable[str], there: str) -> str:
    return f"{fault} {word!r}; {there} {', '.join(known) or 'none'}{did_you_mean(word, known)}"


def _bad(message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint="'--kernel'")
