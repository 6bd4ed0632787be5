"""What a run leaves."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vesica._native import Ended


class Run:
    """A run that succeeded: what this side learned, and how it went."""

    def __init__(self, ended: Ended, rows: Any, record: str | None) -> None:
        self._report: dict[str, Any] = json.loads(ended.report)
        self._rows = rows
        self._record: dict[str, Any] | None = json.loads(record) if record else None
        self._shortfalls = ended.shortfalls

    @property
    def rows(self) -> Any:
        """The rows of this side that matched, in the form of the table that was given.

        None where this side does not learn them, or where they went to ``output``.
        """
        return self._rows

    @property
    def count(self) -> int | None:
        """How many keys match, where this side learned it."""
        answer = self._answer
        count: int | None = self._report["matches"]
        return answer["value"] if answer.get("kind") == "count" else count

    @property
    def value(self) -> int | Decimal | bool | None:
        """The number that was asked for: a count, a sum, or whether a threshold was reached.

        None where this side did not learn it, or where fewer keys match than the minimum.
        """
        value: Any = self._answer.get("value")
        if isinstance(value, str):
            return Decimal(value) if "." in value else int(value)
        number: int | bool | None = value
        return number

    @property
    def _answer(self) -> dict[str, Any]:
        answer: dict[str, Any] | None = self._report["answer"]
        return answer or {}

    @property
    def learned(self) -> str:
        """What this side learned, what the other side learned, and the assumptions, in sentences."""
        learned: dict[str, str] = self._report["learned"]
        return " ".join([learned["me"], learned["peer"], learned["assuming"]])

    @property
    def disclosure(self) -> dict[str, Any]:
        """The same as facts: a list for each side, ``a`` being the one that connected.

        ``neither`` has the facts that neither side learned, and ``assuming`` the assumptions.
        """
        disclosure: dict[str, Any] = self._report["disclosure"]
        return disclosure

    @property
    def report(self) -> dict[str, Any]:
        """Everything about the run: terms, sizes, bytes, seconds, who learned what.

        It is what the command line writes with `--report`, and holds no identifier.
        """
        return self._report

    @property
    def record(self) -> dict[str, Any] | None:
        """The record that both sides signed, of a run under an agreement."""
        return self._record

    @property
    def unconfirmed(self) -> str | None:
        """What went wrong after this side's result was complete, if anything did."""
        return "; ".join(self._shortfalls) or None

    def __repr__(self) -> str:
        report = self._report
        found = "" if self.count is None else f"{self.count:,} keys match; "
        mine: int = report["rows"]["used"]
        theirs: int = report["peer_items"]
        protocol = report["protocol"]
        return f"<vesica.Run: {found}{mine:,} keys here, {theirs:,} there, by {protocol}>"
