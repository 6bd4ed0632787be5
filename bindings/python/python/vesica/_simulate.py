"""All sides of a run in one call, for experiments and tutorials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

from vesica import _api, _native
from vesica._errors import CancelledError, NetworkError, UsageError
from vesica._partner import Parties, Partner, local_pair
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
    call, pair = _call(answer), local_pair()
    own = {"values": options.pop("values")} if "values" in options else {}

    def side(end: Partner, table: Any, key: Any, who: str, given: dict[str, Any]) -> Run:
        run: Run = call(table, key=key, learns=who, partner=end, **given, **options)
        return run

    mine, its = _at_once(
        [
            lambda: side(pair[0], left, left_on, learns, own),
            lambda: side(pair[1], right, right_on, _MIRRORED.get(learns, learns), {}),
        ]
    )
    return mine, its


def simulate_parties(
    tables: Mapping[str, Path | ArrowStream],
    *,
    on: Key | Sequence[Key] | Mapping[str, Key | Sequence[Key]],
    leader: str,
    pivot: str | None = None,
    at_least: int | None = None,
    learners: str | Sequence[str] | None = None,
    answer: str = "rows",
    only: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Any,
) -> dict[str, Run]:
    """Run three or more parties in this process, and return the run of each.

    Args:
        tables: The table of each party, by its name.
        on: The key of all tables, or of each party's.
        leader: The party that learns the result.
        pivot: The party that ends the run with the leader.
        at_least: In place of a pivot, the number of other parties that must have a key.
        learners: Other parties that learn the result, or ``"all"``.
        answer: The kind of answer: rows, count, sum or threshold.
        only: Arguments of single parties, such as ``{"birch": {"values": "amount"}}``.
        **options: Arguments of all parties, as for the function of this answer.

    Returns:
        The run of each party, by its name.

    >>> import vesica
    >>> runs = vesica.simulate_parties(
    ...     {"ash": "a.csv", "birch": "b.csv", "cedar": "b.csv"},
    ...     on={"ash": "email", "birch": "mail", "cedar": "mail"},
    ...     leader="ash",
    ...     pivot="birch",
    ... )
    >>> runs["ash"].count
    2

    """
    call = _call(answer)
    keys = on if isinstance(on, Mapping) else dict.fromkeys(tables, on)
    given = only or {}
    for what, names in (("on", keys), ("only", given)):
        for name in names:
            if name not in tables:
                raise UsageError(f"{what}: there is no table of {name}")
    for name in tables:
        if name not in keys:
            raise UsageError(f"on: the key of {name} is missing")
    identities = {name: _native.Identity.generate() for name in tables}
    fingerprints = {name: identity.fingerprint for name, identity in identities.items()}

    def party(name: str, folder: str) -> Run:
        parties = Parties(
            fingerprints,
            leader=leader,
            pivot=pivot,
            at_least=at_least,
            learners=learners,
            exchange=folder,
        )
        run: Run = call(
            tables[name],
            key=keys[name],
            partner=parties,
            identity=identities[name],
            **given.get(name, {}),
            **options,
        )
        return run

    with TemporaryDirectory(prefix="vesica-") as folder:
        runs = _at_once([partial(party, name, folder) for name in tables])
    return dict(zip(tables, runs, strict=True))


def _call(answer: str) -> Any:
    """Return the function that gives this answer."""
    if answer not in _CALLS:
        raise UsageError(f"answer is {', '.join(_CALLS)}")
    return _CALLS[answer]


def _at_once(sides: Sequence[Callable[[], Run]]) -> list[Run]:
    """Call each side on a thread; cancel all once one fails or this thread is interrupted."""
    cancel = _api.canceller.get() or _native.Cancel()

    def cancellable(side: Callable[[], Run]) -> Run:
        _api.canceller.set(cancel)
        return side()

    with ThreadPoolExecutor(len(sides), "vesica") as pool:
        calls = [pool.submit(cancellable, side) for side in sides]
        try:
            ended, _ = wait(calls, return_when=FIRST_EXCEPTION)
        except BaseException:
            cancel.cancel()
            raise
        if any(call.exception() for call in ended):
            # The others may wait for the one that failed.
            cancel.cancel()
    for call in calls:
        fault = call.exception()
        # The error of the side that caused it says more than the other sides'.
        if fault is not None and not isinstance(fault, (NetworkError, CancelledError)):
            raise fault
    return [call.result() for call in calls]
