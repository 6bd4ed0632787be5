"""The result of a run."""

from __future__ import annotations

import json
from decimal import Decimal
from html import escape
from typing import Any

from vesica._native import Ended


class Run:
    """A successful run: this side's result and the report."""

    def __init__(self, ended: Ended, rows: Any, record: str | None) -> None:
        self._report: dict[str, Any] = json.loads(ended.report)
        self._rows = rows
        self._record: dict[str, Any] | None = json.loads(record) if record else None
        self._shortfalls = ended.shortfalls

    @property
    def rows(self) -> Any:
        """Matched rows of this side, with the type of the given table.

        None if this side does not learn them, or if they were written to ``output``.
        """
        return self._rows

    @property
    def count(self) -> int | None:
        """The number of matching keys, if this side learned it."""
        answer = self._answer
        count: int | None = self._report["matches"]
        return answer["value"] if answer.get("kind") == "count" else count

    @property
    def value(self) -> int | Decimal | bool | None:
        """The answer: a count, a sum, or whether a threshold was reached.

        None if this side did not learn it, or if fewer keys match than the minimum. In the second
        case, ``too_few`` is true.
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
        """Sentences that state what each side learned, and under which assumptions."""
        learned: dict[str, str] = self._report["learned"]
        return " ".join([learned["me"], learned["peer"], learned["assuming"]])

    @property
    def disclosure(self) -> dict[str, Any]:
        """The content of ``learned`` as data: a list for each side, where ``a`` connected.

        ``neither`` lists facts that neither side learned, and ``assuming`` the assumptions.
        """
        disclosure: dict[str, Any] = self._report["disclosure"]
        return disclosure

    @property
    def report(self) -> dict[str, Any]:
        """The report: terms, sizes, bytes, seconds, and what each side learned.

        The command line writes the same report with `--report`. It contains no identifier.
        """
        return self._report

    @property
    def record(self) -> dict[str, Any] | None:
        """The record that both sides signed, for a run under an agreement."""
        return self._record

    @property
    def unconfirmed(self) -> str | None:
        """Problems that occurred after this side's result was complete, if any."""
        return "; ".join(self._shortfalls) or None

    @property
    def too_few(self) -> bool:
        """Whether fewer keys match than the minimum, so that the answer is withheld."""
        return self._answer.get("kind") == "too_few"

    def _found(self) -> str:
        """Describe the answer in a few words."""
        if self.too_few:
            return "fewer keys match than the minimum"
        value = self.value
        if isinstance(value, bool):
            return "the threshold is reached" if value else "the threshold is not reached"
        kind: str = self._answer.get("kind", "")
        if kind in ("count", "") and self.count is not None:
            return f"{self.count:,} {'key matches' if self.count == 1 else 'keys match'}"
        if value is None:
            terms = self._report["terms"]
            some = terms["a_learns"] or terms["b_learns"]
            if "parties" in self._report:
                return "another party learns the result"
            return f"{'the other' if some else 'neither'} side learns the result"
        # A noisy count may be any number, so it is not worded as a number of keys.
        return f"{'noisy answer' if kind == 'noisy' else 'sum'} {value:,}"

    def _sizes(self, word: str) -> str:
        """Describe the sizes of the sets, with a word or comma between the two of a pair."""
        report = self._report
        mine: int = report["rows"]["used"]
        if "parties" in report:
            return f"{mine:,} keys here, among {len(report['parties']['all'])} parties"
        theirs: int = report["peer_items"]
        return f"{mine:,} keys here{word} {theirs:,} there"

    def __repr__(self) -> str:
        protocol = self._report["protocol"]
        return f"<vesica.Run: {self._found()}; {self._sizes(',')}, by {protocol}>"

    def _repr_html_(self) -> str:
        report = self._report
        learned: dict[str, str] = report["learned"]
        lines = [learned["me"], learned["peer"], learned["assuming"]]
        said = "".join(f"<li>{escape(line)}</li>" for line in lines)
        return (
            f"<p><b>{escape(self._found().capitalize())}</b>, of {self._sizes(' and')}.</p>"
            f"<ul>{said}</ul>"
        )
