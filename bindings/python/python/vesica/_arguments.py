"""Arguments of calls: their kinds and units, and those that an agreement settles."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, cast

from vesica._errors import UsageError

Check = Callable[[str, Any], Any]
"""Takes an argument's name and value; returns the value for the native part, or raises."""

SETTLED = (
    "learns",
    "normalize",
    "null_values",
    "security",
    "protocol",
    "minimum",
    "epsilon",
    "clamp",
    "scale",
    "send",
    "send_bytes",
    "receive",
    "align",
    "max_peer_rows",
    "allow_research",
    "diagnose",
    "answer",
)
"""Arguments that an agreement settles, so that a run under one names none of them."""

_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}
_LONGEST = 30 * 86400.0


def refuse_settled(given: dict[str, Any]) -> None:
    """Refuse arguments that an agreement settles, each by its name."""
    named = [name for name in SETTLED if given.get(name) is not None]
    if named:
        raise UsageError(f"the agreement settles {', '.join(named)}: leave out each of them")


def _refused(name: str, wanted: str, value: object) -> UsageError:
    """Make the error for a value of another type, which is not shown."""
    return UsageError(f"{name} is {wanted}, not {type(value).__name__}")


def text(name: str, value: Any) -> str:
    """Take a text, which may not be a secret key."""
    if not isinstance(value, str):
        raise _refused(name, "text", value)
    without_secret(name, value)
    return value


def path(name: str, value: Any) -> str | os.PathLike[str]:
    """Take a path or an address, which may not be a secret key."""
    if not isinstance(value, (str, os.PathLike)):
        raise _refused(name, "a path", value)
    without_secret(name, os.fspath(cast("os.PathLike[str]", value)))
    return cast("str | os.PathLike[str]", value)


def without_secret(name: str, value: object) -> None:
    """Refuse the text of a key in place of something else, and do not repeat it."""
    if isinstance(value, str) and "-----BEGIN" in value:
        raise UsageError(
            f"{name} holds the text of a key; make an identity of it with Identity.from_pem"
        )


def flag(name: str, value: Any) -> bool:
    """Take a truth value."""
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
    """Take numbers in a range, of this unit."""

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


def rate(name: str, value: Any) -> int:
    """Take a bandwidth in Mbit/s; return it in bits per second."""
    return int(number(1e-3, 1e6, "Mbit/s")(name, value) * 1e6)


def amount(name: str, value: Any, least: int = 2**20) -> int:
    """Take an amount in bytes, or with its unit as ``2G``; return bytes."""
    wanted = f"an amount such as '2G' or '512M', or a number of bytes from {least}"
    if isinstance(value, str):
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT])(?:i?B)?", value, re.IGNORECASE)
        if found is None:
            raise UsageError(f"{name} is {wanted}")
        value = int(float(found[1]) * 2 ** _UNITS[found[2].upper()])
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise _refused(name, wanted, value)
    taken = int(value)
    if not least <= taken < 2**60:
        raise UsageError(f"{name} is {wanted}")
    return taken


def optional(check: Check, name: str, value: Any) -> Any:
    """Take a value that may be left out."""
    return None if value is None else check(name, value)


def names(name: str, value: Any) -> list[str]:
    """Take names of columns; a text is one name."""
    if isinstance(value, str):
        return [value]
    found: list[Any] = list(value) if _is_list(value) else [None]
    if not all(isinstance(part, str) for part in found):
        raise _refused(name, "a name, or a list of names,", value)
    return found


def privacy(name: str, value: Any) -> str:
    """Take a privacy loss."""
    if isinstance(value, bool) or not (isinstance(value, str) or hasattr(value, "__float__")):
        raise _refused(name, "a number", value)
    return str(value)


def repeats(name: str, value: Any) -> tuple[str, int]:
    """Take the treatment of rows that repeat a key, and the number of each that is sent."""
    if isinstance(value, str):
        return value, 1
    return "all", whole(1, 2**32 - 1)(name, value)


def joins(name: str, value: Any) -> bool:
    """Take the kind of a join; return whether rows that match nothing are kept."""
    if value not in ("inner", "left"):
        raise UsageError(f"{name} is inner or left, not `{text(name, value)}`")
    return bool(value == "left")


def key_columns(key: Any) -> list[list[str]]:
    """Read a key: a column, several columns, or several identifiers of several columns each."""
    without_secret("key", key)
    if isinstance(key, str):
        return [[key]]
    if not _is_list(key):
        raise _refused("key", "the name of a column, or a list of names,", key)
    parts: list[Any] = list(key)
    if all(isinstance(part, str) for part in parts):
        return [parts]
    return [names("key", part) for part in parts]


def _is_list(value: Any) -> bool:
    """Whether something has names in an order, as the columns of a frame have."""
    unordered = (str, bytes, Mapping, Set)
    return isinstance(value, Iterable) and not isinstance(value, unordered)


def profiles(normalize: Any) -> list[str]:
    """Read how keys are made comparable: one profile, or one for each column."""
    return ["none"] if normalize is None else names("normalize", normalize)


def taken(options: dict[str, tuple[Any, Check]], given: dict[str, Any]) -> dict[str, Any]:
    """Take these options out of those that are given; None is as good as none."""
    found: dict[str, Any] = {}
    for name, (default, check) in options.items():
        value = given.pop(name, None)
        found[name] = default if value is None else check(name, value)
    return found


KEYS: dict[str, tuple[Any, Check]] = {
    "null_values": (None, names),
    "format": (None, text),
    "delimiter": ("comma", text),
    "query": (None, text),
}

ASKED: dict[str, tuple[Any, Check]] = {
    "security": ("semi-honest", text),
    "protocol": (None, text),
    "minimum": (0, whole(0)),
    "epsilon": (None, privacy),
    "clamp": (None, whole(0)),
    "scale": (0, whole(0, 255)),
}

REST: dict[str, tuple[Any, Check]] = {
    "send": (None, names),
    "send_bytes": (64, whole(1, 2**32 - 1)),
    "receive": (False, flag),
    "align": (False, flag),
    "join": (False, joins),
    "select": (None, names),
    "nulls": ("skip", text),
    "duplicates": (("first", 1), repeats),
    "allow_empty": (False, flag),
    "max_peer_rows": (100_000_000, whole(0)),
    "allow_research": (False, flag),
    "diagnose": (False, flag),
    "output": (None, path),
    "report": (None, path),
    "record": (None, path),
    "ledger": (None, path),
    "spill": (None, path),
    "resume": (None, path),
    "bandwidth": (None, rate),
    "memory": (None, amount),
    "partitions": (1, whole(1, 2**32 - 1)),
    "threads": (0, whole(0, 2**16)),
    "wait": (300.0, seconds),
    "stall_timeout": (60.0, seconds),
    "deadline": (86400.0, seconds),
}
