"""What can go wrong, by whose fault it is; the words are the command line's."""

from __future__ import annotations

import json
import re
from typing import Any


def masked(text: str) -> str:
    """Leave out names and passwords in addresses."""
    return re.sub(r"(://)[^/\s@\"]+@", r"\1…@", text)


def in_python(message: str) -> str:
    """Call flags and commands by the names that they have here: `--max-peer-rows` and others."""
    command = "show it with `vesica fingerprint`"
    message = message.replace(command, "read it with Identity.load or Identity.load_or_create")
    flag = r"(?<![^\s(`'])--([a-z]+(?:-[a-z]+)*)"

    def name(found: re.Match[str]) -> str:
        return _NAMES.get(found[1], found[1].replace("-", "_"))

    return masked(re.sub(flag, name, message))


_NAMES = {"exchange-dir": "exchange", "lambda": "lambda_", "peer": "fingerprint"}
"""Options that arguments have under another name."""


_NOT_FOUND = "(os error 2)"
"""Where a system's own words differ, its number for them does not."""


class Error(Exception):
    """A run or another call failed.

    ``report`` has what a report says of a run that failed: where it came to, and why.
    """

    report: dict[str, Any] | None

    def __init__(self, message: str, report: str | None = None) -> None:
        super().__init__(in_python(message))
        self.report = json.loads(masked(report)) if report else None


class UsageError(Error, ValueError):
    """What was asked for makes no sense."""


class InputError(Error, OSError):
    """A table or file of this side cannot be read, understood or written.

    Where there is no such file, it is a ``MissingFileError``.
    """


class MissingFileError(InputError, FileNotFoundError):
    """There is no such file."""


class NetworkError(Error, ConnectionError):
    """The other side cannot be reached, was lost, or stopped for a reason of its own."""


class TermsError(Error):
    """The two sides do not agree on what to run."""


class PolicyError(Error):
    """A policy of either side refuses the run or its result."""


class PeerError(Error):
    """The other side broke the protocol."""


class CancelledError(Error):
    """Somebody asked this side to stop; the other side was told."""


class BugError(Error):
    """A defect of Vesica; please report it."""


def of(kind: str, message: str, report: str | None = None) -> Error:
    """Make an error of a kind that the native part names."""
    if kind == "InputError" and "cannot be read" in message and _NOT_FOUND in message:
        return MissingFileError(message, report)
    made: Error = globals()[kind](message, report)
    return made
