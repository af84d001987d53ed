"""The version, in one place: the build, the store and ``distkern --version`` read it from here."""

__version__ = "0.1.0"
