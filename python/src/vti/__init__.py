"""Bayesian model selection with answers that say whether to trust them.

>>> import vti
>>> found = vti.varsel(frame, target="y")
>>> found.verdict, found.inclusion

Every command of the program ``vti`` is a function: see :mod:`vti.commands`.
"""

from importlib.metadata import PackageNotFoundError, version

from .commands import *  # noqa: F403
from .commands import __all__ as _commands
from .program import ProgramNotFound, VtiError
from .result import Answer, DoubtfulWarning, FailedVerdict, Result, resume

try:
    __version__ = version("vti")
except PackageNotFoundError:  # a source tree on the path
    __version__ = "unknown"

__all__ = [*_commands, "Answer", "DoubtfulWarning", "FailedVerdict", "ProgramNotFound", "Result", "VtiError", "resume"]
