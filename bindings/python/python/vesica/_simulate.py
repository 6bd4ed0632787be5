"""Both sides of a run in one call, for experiments and tutorials."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from vesica import _api, _native
from vesica._errors import NetworkError, UsageError
from vesica._partner import Partner, local_pair
from vesica._run import Run
from vesica._types import ArrowStream, Key, Learns, Path

_MIRRORED: dict[str, Learns] = {"me": "peer", "peer": "me"}

_CALLS: dict[str, Any] = {
    "rows": _api.intersect,
    "count": _api.count,
    "sum": _api.sum,
    "threshold": _api.threshold,
}


def simulate(
    left: Path | ArrowStream,
    right: Path | ArrowStream,
    *,
    left_on: Key | Sequence[Key],
    right_on: Key | Sequence[Key],
    learns: Learns = "both",
    answer: str = "rows",
    **options: Any,
) -> tuple[Run, Run]:
    """Run both sides in this process like two parties, and return both runs.

    Args:
        left: The table of the first side.
        right: The table of the second side.
        left_on: The key of the first table, as for ``vesica.intersect``.
        right_on: The key of the second table.
        learns: The side that learns the result, as seen from the first: me, peer, both or nobody.
        answer: The kind of answer: rows, count, sum or threshold. A sum needs ``values``, a column
            of the first table, and a threshold needs ``at_least``.
        **options: Arguments of both sides, as for the function of this answer.

    Returns:
        The runs of the first and of the second side.

    >>> import vesica
    >>> mine, its = vesica.simulate("a.csv", "b.csv", left_on="email", right_on="mail")
    >>> mine.count, its.count
    (2, 2)

    """
    if answer not in _CALLS:
        raise UsageError(f"answer is {', '.join(_CALLS)}")
    call, pair = _CALLS[answer], local_pair()
    own = {"values": options.pop("values")} if "values" in options else {}
    cancel = _api.canceller.get() or _native.Cancel()

    def side(end: Partner, table: Any, key: Any, who: str, given: dict[str, Any]) -> Run:
        _api.canceller.set(cancel)
        run: Run = call(table, key=key, learns=who, partner=end, **given, **options)
        return run

    with ThreadPoolExecutor(2, "vesica") as pool:
        calls = [
            pool.submit(side, pair[0], left, left_on, learns, own),
            pool.submit(side, pair[1], right, right_on, _MIRRORED.get(learns, learns), {}),
        ]
        try:
            faults = [call.exception() for call in calls]
        except BaseException:
            cancel.cancel()
            raise
    for fault in faults:
        # The error of the side that caused it says more than the other side's.
        if fault is not None and not isinstance(fault, NetworkError):
            raise fault
    return calls[0].result(), calls[1].result()
