"""Exceptions, by who caused the error. Their messages are the command line's."""

from __future__ import annotations

import json
import re
from typing import Any


def masked(text: str) -> str:
    """Hide names and passwords in addresses."""
    return re.sub(r"(://)[^/\s@\"]+@", r"\1…@", text)


def in_python(message: str) -> str:
    """Replace flags and commands, such as `--max-peer-rows`, by their names in this package."""
    command = "show it with `vesica fingerprint`"
    message = message.replace(command, "read it with Identity.load or Identity.load_or_create")
    flag = r"(?<![^\s(`'])--([a-z]+(?:-[a-z]+)*)"

    def name(found: re.Match[str]) -> str:
        return _NAMES.get(found[1], found[1].replace("-", "_"))

    return masked(re.sub(flag, name, message))


_NAMES = {"exchange-dir": "exchange", "lambda": "lambda_", "peer": "fingerprint"}
"""Options whose arguments have other names."""


_NOT_FOUND = "(os error 2)"
"""The error number, which is the same in every language of the system."""


class Error(Exception):
    """A run or another call failed.

    ``report`` is the report of a failed run: how far it got, and why it failed.
    """

    report: dict[str, Any] | None

    def __init__(self, message: str, report: str | None = None) -> None:
        super().__init__(in_python(message))
        self.report = json.loads(masked(report)) if report else None


class UsageError(Error, ValueError):
    """An argument or a combination of arguments is invalid."""


class InputError(Error, OSError):
    """A table or file of this side cannot be read, understood or written.

    If the file does not exist, it is a ``MissingFileError``.
    """


class MissingFileError(InputError, FileNotFoundError):
    """A file does not exist."""


class NetworkError(Error, ConnectionError):
    """The other side cannot be reached, lost the connection, or stopped for its own reason."""


class TermsError(Error):
    """The two sides do not agree on what to run."""


class PolicyError(Error):
    """A policy of either side refuses the run or its result."""


class PeerError(Error):
    """The other side broke the protocol."""


class CancelledError(Error):
    """The run was cancelled on this side, and the other side was notified."""


class BugError(Error):
    """A defect of Vesica; please report it."""


def of(kind: str, message: str, report: str | None = None) -> Error:
    """Make an exception of the kind that the native part names."""
    if kind == "InputError" and "cannot be read" in message and _NOT_FOUND in message:
        return MissingFileError(message, report)
    made: Error = globals()[kind](message, report)
    return made
