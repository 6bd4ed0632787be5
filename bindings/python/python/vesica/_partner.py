"""The other side of a run."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from vesica import _native
from vesica._arguments import optional, path, text
from vesica._native import Identity
from vesica._types import Path


def identity_of(identity: Any) -> Identity:
    """Take an identity, or the path of its file."""
    if isinstance(identity, Identity):
        return identity
    return Identity.load(path("identity", identity))


class Partner:
    """The other side, and the way to reach it.

    Give its fingerprint and one of these: ``connect`` or ``listen`` with an address such as
    ``partner.example.org:7788``, ``relay`` with the address of a relay, or ``exchange`` with a
    directory or a prefix of object addresses. One side connects, and the other listens. Or give
    only the file of an ``agreement``, made by ``vesica invite`` and ``vesica accept``, which
    contains all of this.

    >>> Partner("vesica1-…", connect="partner.example.org:7788")
    <vesica.Partner vesica1-… connect=partner.example.org:7788>
    """

    def __init__(
        self,
        fingerprint: str | None = None,
        *,
        agreement: Path | None = None,
        connect: str | None = None,
        listen: str | None = None,
        relay: str | None = None,
        exchange: Path | None = None,
        proxy: str | None = None,
    ) -> None:
        self._fields: dict[str, Any] = {
            "fingerprint": optional(text, "fingerprint", fingerprint),
            "agreement": optional(path, "agreement", agreement),
            "connect": optional(text, "connect", connect),
            "listen": optional(text, "listen", listen),
            "relay": optional(text, "relay", relay),
            "exchange": optional(path, "exchange", exchange),
            "proxy": optional(text, "proxy", proxy) or os.environ.get("VESICA_PROXY") or None,
            "local": None,
        }

    def _native(
        self, identity: Identity | Path | None
    ) -> tuple[dict[str, Any], Identity | None, _native.LocalEnd | None]:
        """Return the options of a job, this side's identity, and the end in this process."""
        me = None if identity is None else identity_of(identity)
        options = {**self._fields, "peer": self._fields["fingerprint"]}
        options["exchange_dir"] = options.pop("exchange")
        del options["fingerprint"]
        return options, me, options.pop("local")

    @contextmanager
    def _held(self) -> Generator[None]:
        """Hold an end in this process during a call, and release it even if the call fails."""
        end: _native.LocalEnd | None = self._fields["local"]
        if end is None:
            yield
            return
        end.begin()
        try:
            yield
        finally:
            end.end()

    @property
    def _is_agreed(self) -> bool:
        return self._fields["agreement"] is not None

    def __repr__(self) -> str:
        local: _native.LocalEnd | None = self._fields["local"]
        if local is not None:
            return f"<vesica.Partner {local.name}>"
        # A proxy's address may contain a password.
        shown = ("agreement", "connect", "listen", "relay", "exchange")
        ways = [f"{name}={self._fields[name]}" for name in shown if self._fields[name] is not None]
        return f"<vesica.Partner {' '.join(filter(None, [self._fields['fingerprint'], *ways]))}>"


class Parties(Partner):
    """All parties of a run among three or more, and the way to reach them.

    Give each party's name with its fingerprint, or with ``FINGERPRINT@HOST:PORT`` if it can be
    reached, the same on all of them, and ``relay`` or ``exchange`` if nobody can. The ``leader``
    learns the result, and ends the run with the ``pivot``; with ``at_least``, it learns instead
    which of its keys at least this number of others have, in a column ``holders``. ``learners``
    names others that learn the result, or is ``"all"``.

    >>> Parties(
    ...     {"ash": "vesica1-…@ash.example:7788", "birch": "vesica1-…", "cedar": "vesica1-…"},
    ...     leader="ash",
    ...     pivot="birch",
    ... )
    <vesica.Parties ash, birch, cedar; leader=ash pivot=birch>
    """

    def __init__(
        self,
        parties: Mapping[str, str],
        *,
        leader: str,
        pivot: str | None = None,
        at_least: int | None = None,
        learners: str | Sequence[str] | None = None,
        listen: str | None = None,
        relay: str | None = None,
        exchange: Path | None = None,
        proxy: str | None = None,
    ) -> None:
        super().__init__(listen=listen, relay=relay, exchange=exchange, proxy=proxy)
        self._places: dict[str, Any] = {
            "leader": text("leader", leader),
            "pivot": optional(text, "pivot", pivot),
            "at_least": at_least,
            "learners": learners,
        }
        self._parties = [
            f"{text('parties', name)}={text('parties', where)}" for name, where in parties.items()
        ]

    def _native(
        self, identity: Identity | Path | None
    ) -> tuple[dict[str, Any], Identity | None, _native.LocalEnd | None]:
        options, me, local = super()._native(identity)
        return {**options, "parties": self._parties, **self._places}, me, local

    def __repr__(self) -> str:
        names = ", ".join(party.partition("=")[0] for party in self._parties)
        places = [f"{name}={place}" for name, place in self._places.items() if place is not None]
        return f"<vesica.Parties {names}; {' '.join(places)}>"


def local_pair() -> tuple[Partner, Partner]:
    """Make two partners in this process, for tutorials and tests.

    Call once with each, on two threads. Neither needs an identity, and nothing leaves the process.
    If one call fails before the two have met, the other one fails, too.

    >>> import vesica
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> one, other = vesica.local_pair()
    >>> with ThreadPoolExecutor() as pool:
    ...     mine = pool.submit(
    ...         vesica.intersect, "a.csv", key="email", learns="both", partner=one)
    ...     its = pool.submit(
    ...         vesica.intersect, "b.csv", key="mail", learns="both", partner=other)
    >>> mine.result().count
    2
    """
    ends = _native.local_pair()
    pair = (Partner(), Partner())
    for partner, end in zip(pair, ends, strict=True):
        partner._fields["local"] = end  # pyright: ignore[reportPrivateUsage]
    return pair
