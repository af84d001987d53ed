"""The version, in one place: the store, saved models and ``distkern --version`` read it from here.

The build derives it from the tags of git and writes it into the package. Sources that were not built, such as a folder
on ``PYTHONPATH``, are on the way to the next release.
"""

try:
    from distkern._built import __version__ as __version__
except ImportError:
    __version__ = "0.1.0.dev0"
