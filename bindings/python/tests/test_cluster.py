"""Heartbeats and errors of cluster drivers."""

from __future__ import annotations

import threading
import time
from typing import Any, cast

import pytest
import vesica
from vesica import _native
from vesica._cluster import Link, guarded, present


class Gateway:
    """Counts heartbeats of its driver, and restarts once."""

    def __init__(self) -> None:
        self.heard = 0
        self.told: list[object] = []
        self.often = threading.Event()
        self.fails = False

    def here(self, is_staged: bool) -> tuple[bool, Any]:
        assert not is_staged
        self.heard += 1
        if self.heard > 20:
            self.often.set()
        if self.fails:
            raise vesica.NetworkError("the run ended")
        return self.heard == 3, None

    def again(self, busy: list[tuple[int, int]]) -> None:
        self.told.append(busy)


def test_a_driver_that_is_busy_is_heard_of() -> None:
    gateway = Gateway()
    with present(cast("_native.ClusterGateway", gateway)):
        assert gateway.often.wait(60)
    assert gateway.told == [[]]
    # The next request reports the end of the run.
    gateway = Gateway()
    gateway.fails = True
    with present(cast("_native.ClusterGateway", gateway)):
        while gateway.heard == 0:
            time.sleep(0.01)
    assert gateway.heard == 1


@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (ValueError("zq7canary"), vesica.InputError),
        (vesica.PeerError("as it was"), vesica.PeerError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_what_a_cluster_raises_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch, raised: BaseException, kind: type[BaseException]
) -> None:
    stopped: list[BaseException] = []
    monkeypatch.setattr(Link, "stop", lambda self, error: stopped.append(error))

    def work() -> None:
        raise raised

    with pytest.raises(kind) as ended:
        guarded(Link("127.0.0.1:1", "", 0.1), "Spark", work)
    assert stopped == [raised] and "zq7canary" not in f"{ended.value!r}"
    assert ended.value.__context__ is None and ended.value.__cause__ is None


def test_a_token_that_is_not_there() -> None:
    with pytest.raises(vesica.UsageError, match="the token cannot be read"):
        Link.of("127.0.0.1:1", "no such file", 1.0)
