"""Formats of files and containers in memory, one file a family; `distkern.io.registry` finds them here."""
