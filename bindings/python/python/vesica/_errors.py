"""What can go wrong, by whose fault it is; the words are the command line's."""

from __future__ import annotations

import json
import re
from typing import Any


def in_python(message: str) -> str:
    """Call the command's flags by the names that they have here: `--max-peer-rows` and others."""
    flag = r"(?<![^\s(`'])--([a-z]+(?:-[a-z]+)*)"
    return re.sub(flag, lambda found: found[1].replace("-", "_"), message)


class Error(Exception):
    """A run or another call failed.

    ``report`` has what a report says of a run that failed: where it came to, and why.
    """

    report: dict[str, Any] | None

    def __init__(self, message: str, report: str | None = None) -> None:
        super().__init__(in_python(message))
        self.report = json.loads(report) if report else None


class UsageError(Error, ValueError):
    """What was asked for makes no sense."""


class InputError(Error, OSError):
    """A table or file of this side cannot be read, understood or written."""


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
