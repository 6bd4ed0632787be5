"""Both sides of a run in one call, to try things out and to teach."""

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
    """Run both sides in this process, as two parties would, and return the run of each.

    Args:
        left: The table of the first side.
        right: The table of the second side.
        left_on: The key of the first table, as for ``vesica.intersect``.
        right_on: The key of the second table.
        learns: Who learns the result, as the first side says it: me, peer, both or nobody.
        answer: The question: rows, count, sum or threshold. For a sum, ``values`` names the
            column of the first table, and for a threshold ``at_least`` the number.
        **options: Arguments of both sides, as for the function that ``answer`` stands for.

    Returns:
        The run of the first side and that of the second.

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
        # The side whose fault it is says more than the other.
        if fault is not None and not isinstance(fault, NetworkError):
            raise fault
    return calls[0].result(), calls[1].result()
