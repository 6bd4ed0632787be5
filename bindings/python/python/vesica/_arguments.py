"""Checks of arguments that are not options of a specification."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, cast

from vesica._errors import UsageError

Check = Callable[[str, Any], Any]
"""Takes an argument's name and value; returns the value for the native part, or raises."""

_LONGEST = 30 * 86400.0


def options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Drop omitted arguments, and refuse the text of a key in any argument."""
    for name, value in given.items():
        without_secret(name, value)
    return {name: value for name, value in given.items() if value is not None}


def _refused(name: str, wanted: str, value: object) -> UsageError:
    """Make the error for a value of the wrong type, without showing the value."""
    return UsageError(f"{name} is {wanted}, not {type(value).__name__}")


def text(name: str, value: Any) -> str:
    """Take a text, which must not be a secret key."""
    if not isinstance(value, str):
        raise _refused(name, "text", value)
    without_secret(name, value)
    return value


def path(name: str, value: Any) -> str | os.PathLike[str]:
    """Take a path or an address, which must not be a secret key."""
    if not isinstance(value, (str, os.PathLike)):
        raise _refused(name, "a path", value)
    without_secret(name, os.fspath(cast("os.PathLike[str]", value)))
    return cast("str | os.PathLike[str]", value)


def without_secret(name: str, value: object) -> None:
    """Refuse the text of a key without repeating it."""
    if isinstance(value, str) and "-----BEGIN" in value:
        raise UsageError(
            f"{name} contains the text of a key; make an identity of it with Identity.from_pem"
        )


def flag(name: str, value: Any) -> bool:
    """Take a Boolean."""
    if not isinstance(value, bool):
        raise _refused(name, "True or False", value)
    return value


_MOST = 2**63 - 1


def whole(low: int, high: int = _MOST) -> Check:
    """Take whole numbers in a range."""
    span = f"from {low} on" if high == _MOST else f"from {low} to {high}"

    def check(name: str, value: Any) -> int:
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise _refused(name, "a whole number", value)
        number = int(value)
        if not low <= number <= high:
            raise UsageError(f"{name} is a whole number {span}")
        return number

    return check


def number(low: float, high: float, unit: str) -> Check:
    """Take numbers of this unit in a range."""

    def check(name: str, value: Any) -> float:
        taken = None
        if not isinstance(value, (bool, str)):
            with contextlib.suppress(TypeError, ValueError, OverflowError):
                taken = float(value)
        if taken is None:
            raise _refused(name, f"a number of {unit}", value)
        if not low <= taken <= high:
            raise UsageError(f"{name} is a number of {unit} from {low:g} to {high:g}")
        return taken

    return check


seconds = number(0.1, _LONGEST, "seconds")
milliseconds = number(0, 10_000, "ms")


def optional(check: Check, name: str, value: Any) -> Any:
    """Take a value that may be left out."""
    return None if value is None else check(name, value)


def names(name: str, value: Any) -> list[str]:
    """Take names of columns, where a text is one name."""
    if isinstance(value, str):
        return [value]
    found: list[Any] = list(value) if _is_list(value) else [None]
    if not all(isinstance(part, str) for part in found):
        raise _refused(name, "a name, or a list of names,", value)
    return found


def _is_list(value: Any) -> bool:
    """Return whether a value is an ordered collection, like the columns of a frame."""
    unordered = (str, bytes, Mapping, Set)
    return isinstance(value, Iterable) and not isinstance(value, unordered)
