"""What a run says, in the log and as a progress bar."""

from __future__ import annotations

import contextlib
import logging
import sys
from importlib import import_module
from typing import Any

log = logging.getLogger("vesica")


class Listener:
    """Hands on what a run says: phases, warnings and waits to the log, and progress to tqdm.

    Without tqdm there is no bar. Nothing that is said holds a value of a table.
    """

    def __init__(self, *, progress: bool | None) -> None:
        self._bar: Any = None
        self._make: Any = None
        # A bar is for people: on a terminal, or in a notebook.
        seen = (sys.stderr is not None and sys.stderr.isatty()) or "ipykernel" in sys.modules
        if progress or (progress is None and seen):
            with contextlib.suppress(ImportError):
                self._make = import_module("tqdm.auto").tqdm

    def __call__(
        self, kind: str, text: str, done: int | None, total: int | None, unit: str | None
    ) -> None:
        """Take one thing that a run says."""
        if kind == "progress":
            self._show(done or 0, total, unit or "")
        elif kind == "warning":
            log.warning("%s", text)
        else:
            log.info("%s", text)
            if kind == "phase" and self._make is not None:
                self.close()
                self._bar = self._make(desc=text, unit=" ", unit_scale=True, leave=False)

    def _show(self, done: int, total: int | None, unit: str) -> None:
        if self._bar is not None:
            self._bar.unit = f" {unit}"
            self._bar.total = max(total, done) if total else None
            self._bar.n = done
            self._bar.refresh()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
