"""Agreements and records in files, and the disclosures of a planned run."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import Any

from vesica import _arguments as arguments
from vesica import _native
from vesica._errors import InputError, MissingFileError, UsageError
from vesica._native import Identity
from vesica._partner import identity_of
from vesica._types import Key, Learns, NumberOptions, Path, Unpack


def _read(name: str, path: Any) -> str:
    path = arguments.path(name, path)
    try:
        return FilePath(path).read_text("utf-8")
    except OSError as error:
        fault = error.strerror or type(error).__name__
        is_missing = isinstance(error, FileNotFoundError)
    except ValueError:
        fault, is_missing = "it is not a text file", False
    kind = MissingFileError if is_missing else InputError
    raise kind(f"{os.fspath(path)}: cannot be read: {fault}")


class Agreement:
    """An agreement in a file, made by ``vesica accept`` or ``vesica confirm``.

    It can be used as the path of its file: ``vesica.intersect(table, key="email",
    partner=agreement, identity=me)``.
    """

    def __init__(self, path: Path, found: dict[str, Any]) -> None:
        self._path = path
        self._found = found

    @staticmethod
    def load(path: Path, identity: Identity | Path | None = None) -> Agreement:
        """Read an agreement. An identity words ``sentences`` and ``clauses`` for that side."""
        me = None if identity is None else identity_of(identity).fingerprint
        found: dict[str, Any] = json.loads(_native.agreement(_read("agreement", path), me))
        return Agreement(path, found)

    @property
    def name(self) -> str:
        """The name of the agreement."""
        return str(self._found["name"])

    @property
    def hash(self) -> str:
        """The hash of the agreement, by which records refer to it."""
        return str(self._found["hash"])

    @property
    def words(self) -> str:
        """The hash as words, to compare with the other side over the telephone."""
        return str(self._found["words"])

    @property
    def parties(self) -> tuple[str, ...]:
        """The fingerprints of all parties, the inviting one first if there are two."""
        return tuple(self._found["parties"])

    @property
    def is_signed(self) -> bool:
        """Whether all parties have signed it."""
        return bool(self._found["is_signed"])

    @property
    def made(self) -> str:
        """The time at which it was proposed."""
        return str(self._found["made"])

    @property
    def accepted(self) -> str:
        """The time at which it was accepted."""
        return str(self._found["accepted"])

    @property
    def sentences(self) -> list[str]:
        """Sentences that describe what each run discloses to each side."""
        return list(self._found["summary"]["sentences"])

    @property
    def clauses(self) -> list[str]:
        """The other terms of the agreement."""
        return list(self._found["summary"]["clauses"])

    @property
    def disclosure(self) -> dict[str, Any]:
        """The disclosures of each run, as structured data."""
        return dict(self._found["summary"]["disclosure"])

    def __fspath__(self) -> str:
        return os.fspath(self._path)

    def __repr__(self) -> str:
        return f"<vesica.Agreement {self.name} {self.hash[:16]}>"


def preview(
    *,
    agreement: Path | None = None,
    identity: Identity | Path | None = None,
    key: Key | Sequence[Key] = "key",
    normalize: str | Sequence[str] | None = None,
    learns: Learns | None = None,
    answer: str | None = None,
    send: str | Sequence[str] | None = None,
    receive: bool | None = None,
    align: bool | None = None,
    **options: Unpack[NumberOptions],
) -> dict[str, Any]:
    """Predict the disclosures of a run to each side, without contacting anybody.

    Give the file of an ``agreement`` and this side's ``identity``, or the terms of a run as for
    ``vesica.intersect``. ``answer`` is rows, linked, count, sum, products, threshold:K or shares.

    Returns:
        ``sentences`` that describe the disclosures, ``clauses`` with the other terms, and
        ``disclosure`` as structured data, in which ``role`` is this side.

    >>> import vesica
    >>> vesica.preview(key="email", learns="me")["role"]
    'a'

    """
    if agreement is not None and answer is not None:
        raise UsageError("the agreement settles answer: leave it out")
    given: dict[str, Any] = {
        "agreement": agreement,
        "key": key,
        "normalize": normalize,
        "learns": learns,
        "answer": answer,
        "send": send,
        "receive": receive,
        "align": align,
        **options,
    }
    me = None if identity is None else identity_of(identity).fingerprint
    found: dict[str, Any] = json.loads(_native.preview(arguments.options(given), me))
    return found


def verify(record: Path | dict[str, Any], parties: Sequence[str | Identity]) -> dict[str, Any]:
    """Check the record of a run, which both sides signed.

    Args:
        record: The file of the record, or ``run.record``.
        parties: The fingerprints of both sides, exchanged over a trusted channel. An identity
            stands for its own fingerprint.

    Returns:
        The contents of the record: ``agreement``, ``sides`` with their keys and times, ``matches``
        if both sides learned them, and ``sentences``.

    Raises:
        InputError: Other parties signed the record, or it was changed.

    """
    named = [
        party.fingerprint if isinstance(party, _native.Identity) else party for party in parties
    ]
    if isinstance(record, dict):
        # A record has one canonical encoding, byte for byte.
        text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    else:
        text = _read("record", record)
    found: dict[str, Any] = json.loads(_native.verify(text, arguments.names("parties", named)))
    return found
