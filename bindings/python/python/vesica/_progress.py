"""The messages of a run, in the log and as a progress bar."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
import warnings
from importlib import import_module
from typing import Any

from vesica._errors import in_python, masked

log = logging.getLogger("vesica")


DELAY = 0.5
"""Seconds before a bar appears. Most runs are over by then."""

_PAUSE = 0.2
"""Seconds between updates of a bar, because a notebook may keep each of them."""


class Listener:
    """Hands on what a run says: phases, warnings and waits to the log, and progress to tqdm.

    A run has one bar, and without tqdm none. Nothing that is said holds a value of a table.
    """

    def __init__(self, *, progress: bool | None) -> None:
        self._bar: Any = None
        self._make: Any = None
        self._phase = ""
        self._next = time.monotonic() + DELAY
        # By default, a bar is shown only on a terminal or in a notebook.
        seen = (sys.stderr is not None and sys.stderr.isatty()) or "ipykernel" in sys.modules
        if progress or (progress is None and seen):
            with contextlib.suppress(ImportError), warnings.catch_warnings():
                # A notebook without widgets gets a text bar, without a warning.
                warnings.simplefilter("ignore")
                self._make = import_module("tqdm.auto").tqdm

    def __call__(
        self, kind: str, text: str, done: int | None, total: int | None, unit: str | None
    ) -> None:
        """Handle a message of a run."""
        if kind == "progress":
            self._show(done or 0, total, unit or "")
        elif kind == "warning":
            log.warning("%s", in_python(text))
        else:
            log.info("%s", masked(text))
            if kind == "phase":
                self._phase = text

    def _show(self, done: int, total: int | None, unit: str) -> None:
        now = time.monotonic()
        if self._make is None or now < self._next:
            return
        self._next = now + _PAUSE
        if self._bar is None:
            self._bar = self._make(unit=" ", unit_scale=True, leave=False)
        self._bar.set_description_str(self._phase, refresh=False)
        self._bar.unit = f" {unit}"
        self._bar.total = max(total, done) if total else None
        self._bar.n = done
        self._bar.refresh()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
