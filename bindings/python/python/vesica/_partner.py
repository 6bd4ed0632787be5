"""The other side of a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from vesica import _native
from vesica._native import Identity

if TYPE_CHECKING:
    from vesica._types import Path


class Partner:
    """The other side, and how to reach it.

    Name its fingerprint, and one way: ``connect`` or ``listen`` with an address such as
    ``partner.example.org:7788``, ``relay`` with that of a relay, or ``exchange`` with a directory
    or the beginning of the addresses of objects. One side connects and the other listens. Under an
    ``agreement``, made by ``vesica invite`` and ``vesica accept``, its file says all that.

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
            "fingerprint": fingerprint,
            "agreement": agreement,
            "connect": connect,
            "listen": listen,
            "relay": relay,
            "exchange": exchange,
            "proxy": proxy or os.environ.get("VESICA_PROXY") or None,
            "local": None,
        }

    def _native(self, identity: Identity | Path | None) -> dict[str, Any]:
        """Give the fields that the native part takes."""
        if identity is not None and not isinstance(identity, Identity):
            identity = Identity.load(identity)
        return {**self._fields, "identity": identity}

    @property
    def _is_agreed(self) -> bool:
        return self._fields["agreement"] is not None

    def __repr__(self) -> str:
        local: _native.LocalEnd | None = self._fields["local"]
        if local is not None:
            return f"<vesica.Partner {local.name}>"
        # A proxy's address may hold a password.
        shown = ("agreement", "connect", "listen", "relay", "exchange")
        ways = [f"{name}={self._fields[name]}" for name in shown if self._fields[name] is not None]
        return f"<vesica.Partner {' '.join(filter(None, [self._fields['fingerprint'], *ways]))}>"


def local_pair() -> tuple[Partner, Partner]:
    """Make two partners in this process, for teaching and tests.

    Each is the other side for a call on a thread of its own; neither needs an identity. Nothing
    leaves the process.

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
