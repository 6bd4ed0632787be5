"""The functions of `vesica` as coroutines: ``await vesica.aio.intersect(...)``.

Each runs on a separate thread. Cancelling a task stops its run in order: the other side is
notified, and nothing is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from vesica import _api, _lists, _native
from vesica._errors import Error

P = ParamSpec("P")
R = TypeVar("R")


def _coroutine(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    @functools.wraps(function)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        cancel = _native.Cancel()
        context = contextvars.copy_context()
        context.run(_api.canceller.set, cancel)
        call = functools.partial(context.run, functools.partial(function, *args, **kwargs))
        # The loop has few threads, and a call may wait a long time for its partner.
        own = ThreadPoolExecutor(1, "vesica")
        running = asyncio.get_running_loop().run_in_executor(own, call)
        own.shutdown(wait=False)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            cancel.cancel()
            # The run ends in order before the task does.
            with contextlib.suppress(Error):
                await running
            raise

    return run


intersect = _coroutine(_api.intersect)
linked = _coroutine(_api.linked)
count = _coroutine(_api.count)
sum = _coroutine(_api.sum)
products = _coroutine(_api.products)
threshold = _coroutine(_api.threshold)
shares = _coroutine(_api.shares)
query = _coroutine(_api.query)
check = _coroutine(_api.check)
match_quality = _coroutine(_api.match_quality)
plan = _coroutine(_api.plan)
publish = _coroutine(_lists.publish)
lookup = _coroutine(_lists.lookup)
