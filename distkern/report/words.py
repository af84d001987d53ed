"""Description of a kernel for readers: name, formula, parameters and source, from its class and docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import distkern
from distkern.kernels.base import Kernel, is_ours
from distkern.kernels.partial import PartialKernel

PAIRS = "n_c and n_d count the pairs of features that x and y order in the same way and in opposite ways"
UNTIED = "t_x counts the pairs that x does not tie"


@dataclass(frozen=True)
class KernelWords:
    """Description of a kernel.

    Parameters
    ----------
    name
        Common name.
    formula
        k(x, y), with the values of the parameters where the formula is short enough.
    meaning
        Meaning of the symbols.
    source
        Publication, as the docstring states it.
    code
        Python that makes it, with ``import distkern as dk``.
    operands
        Kernels in a sum, product, multiple or power.
    """

    name: str
    formula: str
    meaning: str
    source: str
    code: str
    operands: tuple[KernelWords, ...] = ()


def describe(kernel: Kernel) -> KernelWords:
    """Describe a kernel for readers.

    Examples
    --------
    >>> from distkern import Kendall, Linear
    >>> words = describe(Kendall(ties="b"))
    >>> words.name, words.formula, words.code
    ('Kendall kernel (tau-b)', 'k(x, y) = (n_c − n_d) / √(t_x t_y)', "dk.Kendall(ties='b')")
    >>> [operand.code for operand in describe(Linear() + Kendall()).operands]
    ['dk.Linear()', "dk.Kendall(ties='zero')"]
    """
    params = kernel.get_params(deep=False)
    operands = tuple(describe(value) for value in params.values() if isinstance(value, Kernel))
    lines = (inspect.getdoc(type(kernel)) or "").splitlines()
    own = _OWN_WORDS.get(kernel.name)
    name, formula, meaning = own(params) if own else _from_docstring(kernel, params, lines)
    return KernelWords(name, formula, meaning, _source(lines), code(kernel), operands)


def code(kernel: Kernel) -> str:
    """Python that makes the kernel, with ``import distkern as dk``.

    Examples
    --------
    >>> from distkern import Linear
    >>> code(Linear()), code(Linear() ** 2)
    ('dk.Linear()', "dk.from_spec({'kernel': 'power', 'base': {'kernel': 'linear'}, 'exponent': 2})")
    """
    plain = not any(isinstance(value, Kernel) for value in kernel.get_params().values())
    if plain and type(kernel).__name__ in distkern.__all__:
        return f"dk.{kernel!r}"
    return f"dk.from_spec({kernel.spec()!r})" if is_ours(type(kernel).__module__) else _code_of_user(kernel)


def _code_of_user(kernel: Kernel) -> str:
    """Python that makes a kernel which is not part of distkern, once its module is imported."""
    module = type(kernel).__module__
    return repr(kernel) if module == "__main__" else f"{module}.{kernel!r}"


def _kendall(params: dict[str, Any]) -> tuple[str, str, str]:
    if params["ties"] == "b":
        meaning = f"{PAIRS}; {UNTIED}. Values lie between −1 and 1, and k(x, x) = 1."
        return "Kendall kernel (tau-b)", "k(x, y) = (n_c − n_d) / √(t_x t_y)", meaning
    meaning = f"{PAIRS}, of all n (n − 1) / 2 pairs; a tied pair counts in neither. Values lie between −1 and 1."
    return "Kendall kernel", "k(x, y) = (n_c − n_d) / (n (n − 1) / 2)", meaning


def _mallows(params: dict[str, Any]) -> tuple[str, str, str]:
    tied = "1/2" if params["ties"] == "kemeny" else "1/4"
    share = " as a share of all pairs" if params["scaled"] else ""
    meaning = (
        f"d(x, y) is the number of pairs of features that x and y order in opposite ways{share}; a pair tied in just "
        f"one of them counts {tied}. Values lie between 0 and 1."
    )
    return "Mallows kernel", f"k(x, y) = exp(−{params['lam']:g} · d(x, y))", meaning


_OWN_WORDS: dict[str, Callable[[dict[str, Any]], tuple[str, str, str]]] = {"kendall": _kendall, "mallows": _mallows}


def _from_docstring(kernel: Kernel, params: dict[str, Any], lines: list[str]) -> tuple[str, str, str]:
    first = lines[0].partition(";")[0].rstrip(".") if lines else ""
    values = (_parameter(kernel, name, value) for name, value in params.items() if not isinstance(value, Kernel))
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(kernel).__name__)
    return f"{name} kernel", _plain(first) if first.startswith("k(") else "", ", ".join(values)


def _parameter(kernel: Kernel, name: str, value: Any) -> str:
    """Write a parameter; what a kernel of partial rankings does with items that have no value is said in words."""
    if isinstance(kernel, PartialKernel) and name == "kind":
        if value == "top":
            return "items without a value come last (kind = top)"
        return "NaN is an item of unknown rank (kind = interleaving), and −∞ one that comes last, as in top-k rankings"
    return f"{name} = {_number(value)}"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _source(lines: list[str]) -> str:
    """Text of a docstring from ``Source:`` to the end of the paragraph."""
    starts = [position for position, line in enumerate(lines) if line.startswith("Source:")]
    if not starts:
        return ""
    paragraph = lines[starts[0] :]
    stop = next((position for position, line in enumerate(paragraph) if not line.strip()), len(paragraph))
    return _plain(" ".join(paragraph[:stop]).removeprefix("Source:").strip())


def _plain(text: str) -> str:
    """Remove the markup of emphasis and of code."""
    return re.sub(r"[*`]", "", text)
