"""The kernel that a store was last asked for, where it is another one than the kernel it was made for.

A store of Kendall's kernel also answers for the Mallows kernel at every λ, since the values of both follow from the
stored counts. What was asked for last is written beside the manifest, so that later commands and `open_gram` answer for
the same kernel. Stores that were only ever asked for one kernel have no such record.
"""

from __future__ import annotations

from typing import Any

from distkern.core.errors import DistkernError, KernelNotFoundError, StoreError
from distkern.core.sentences import Call
from distkern.core.typing import Spec
from distkern.kernels.base import Kernel
from distkern.kernels.registry import from_spec
from distkern.store.documents import Document
from distkern.store.location import ROOT
from distkern.store.manifest import Manifest, json_checksum
from distkern.store.tiles import GramStore

GROUP = "view"
"""Name of the group whose attributes are the record: the spec of the kernel, and the checksum of that spec."""


def asked_kernel(store: GramStore) -> Kernel:
    """The kernel that a store was last asked for; by default the one it was made for.

    Raises
    ------
    StoreError
        If the record is damaged, or its kernel does not follow from the stored values.
    KernelNotFoundError
        If the kernel is a user's, whose module this process has not imported.
    """
    raw = store.read_group(GROUP)
    if raw is None:
        return from_spec(store.manifest.kernel)
    try:
        record = Document.parsed(store.path, f"{GROUP}/{ROOT}", raw).attributes
        spec = record.get("kernel")
        if isinstance(spec, dict) and record.get("checksum") == json_checksum(spec):
            kernel = from_spec(spec)
            if follows(kernel, store.manifest):
                return kernel
    except KernelNotFoundError:
        raise
    except (DistkernError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        pass
    raise StoreError(
        "the record of the kernel that {store!r} was last asked for is damaged: name the kernel with {kernel}, or ask "
        "for it again with {call}",
        store=store.path,
        kernel=Call("with_kernel"),
        call=Call("compute_gram"),
    )


def record_asked(store: GramStore, kernel: Kernel) -> None:
    """Write that a store was asked for a kernel, unless that is known.

    Raises
    ------
    StoreError
        If the store cannot be written.
    """
    if _asked_spec(store) != kernel.spec():
        spec = kernel.spec()
        store.write_group(GROUP, {"kernel": spec, "checksum": json_checksum(spec)})


def follows(kernel: Kernel, manifest: Manifest) -> bool:
    """Whether the values of a kernel follow from those that a store holds."""
    return kernel.stored().spec() == manifest.stored and all(name in manifest.prepared for name in kernel.summary)


def _asked_spec(store: GramStore) -> Spec | Any:
    """Spec of the kernel that was asked for, as it is recorded; None where the record cannot be read."""
    try:
        return asked_kernel(store).spec()
    except (StoreError, KernelNotFoundError):
        return None
