"""The papers' tables: protocol, data, published numbers beside ours."""

from __future__ import annotations

from distkern.reproduce.kendall_accuracy import citation, published, published_average

__all__ = ["citation", "published", "published_average"]
