from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, final

from vesica._types import ArrowStream

__version__: str
WIRE_VERSION: int

Observer = Callable[[str, str, int | None, int | None, str | None], None]

@final
class Identity:
    """Who this party is: a secret key, and the fingerprint by which others know it."""

    @staticmethod
    def create(path: str | PathLike[str]) -> Identity:
        """Make a new identity in a new file that only its owner can read."""
    @staticmethod
    def load(path: str | PathLike[str]) -> Identity:
        """Read an identity from its file."""
    @staticmethod
    def load_or_create(path: str | PathLike[str]) -> Identity:
        """Read an identity from its file, which is made first where there is none."""
    @staticmethod
    def generate() -> Identity:
        """Make a new identity in memory; ``to_pem`` gives the text to keep."""
    @staticmethod
    def from_pem(text: str) -> Identity:
        """Read an identity from the text that a file or a secret manager holds."""
    def to_pem(self) -> str:
        """Give the text of the identity, with its secret key: keep it as any other secret."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def fingerprint(self) -> str:
        """What to tell the other party, over a channel that both trust."""

@final
class LocalEnd:
    @property
    def name(self) -> str: ...
    def begin(self) -> None: ...
    def end(self) -> None: ...

def local_pair() -> tuple[LocalEnd, LocalEnd]: ...

@final
class Table:
    """Rows in Arrow's form, for any package that reads Arrow's PyCapsule interface."""

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Cancel:
    def __init__(self) -> None: ...
    def cancel(self) -> None: ...

@final
class Ended:
    @property
    def report(self) -> str: ...
    @property
    def rows(self) -> Table | None: ...
    @property
    def shortfalls(self) -> list[str]: ...

def run(
    table: str | PathLike[str] | ArrowStream,
    keys: Mapping[str, Any],
    terms: tuple[Mapping[str, Any], Mapping[str, Any]],
    partner: Mapping[str, Any],
    observer: Observer,
    cancel: Cancel,
) -> Ended: ...
def check(table: str | PathLike[str] | ArrowStream, keys: Mapping[str, Any]) -> str: ...
def plan(
    sizes: tuple[int, int, int],
    asked: Mapping[str, Any],
    limits: tuple[int | None, float, int | None],
) -> str: ...
def agreement(text: str, me: str | None = None) -> str: ...
def preview(keys: Mapping[str, Any], terms: tuple[Mapping[str, Any], Mapping[str, Any]]) -> str: ...
def verify(text: str, named: Sequence[str]) -> str: ...

@final
class LookedUp:
    @property
    def rows(self) -> Table | None: ...
    @property
    def keys(self) -> int: ...
    @property
    def matches(self) -> int: ...
    @property
    def written(self) -> int: ...
    @property
    def unreadable(self) -> int: ...
    @property
    def beyond_promise(self) -> bool: ...

def publish(
    table: str | PathLike[str] | ArrowStream,
    keys: Mapping[str, Any],
    publishing: Mapping[str, Any],
    identity: Identity,
    observer: Observer,
    cancel: Cancel,
) -> str: ...
def lookup(
    table: str | PathLike[str] | ArrowStream,
    keys: Mapping[str, Any],
    asking: Mapping[str, Any],
    observer: Observer,
    cancel: Cancel,
) -> LookedUp: ...

@final
class ClusterGateway:
    def __init__(self, address: str, token: str, wait: float) -> None: ...
    def cancel(self) -> None: ...
    def keys(self) -> tuple[str, int, bool]: ...
    def work(self, counts: list[int], sketches: list[str]) -> tuple[str, str, int, int]: ...
    def next(self, slot: int) -> int | None: ...
    def kept(self, slot: int, partition: int) -> None: ...
    def here(self, is_staged: bool) -> tuple[bool, tuple[str, str | None, list[str]] | None]: ...
    def again(self, busy: list[tuple[int, int]]) -> None: ...
    def stop(self, reason: str) -> None: ...
    def compare(self, work: str, partition: int, keys: bytes) -> bytes: ...

def cluster_digests(
    table: ArrowStream, keys: str, columns: Sequence[str]
) -> tuple[bytes, bytes]: ...
def cluster_sketch(keys: str, digests: bytes) -> str: ...
def cluster_partitions(work: str, digests: bytes) -> bytes: ...
def main(arguments: list[str], python: str) -> int: ...
