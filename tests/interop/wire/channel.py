"""messages.md: frames, keep-alive, aborts, the session identifier.

A stream is anything with `write(bytes)`, `flush()` and `read(count)`, which raises Closed at the end.
"""

import hashlib
import re
import time

from .errors import Aborted, Closed, Refused
from .primitives import le64

SEGMENT = 16383
MOST_BUSY = 5400
LABEL = re.compile(rb"[A-Za-z0-9\-_/. ]+")
CODES = range(1, 10)


def frame(label, payload):
    parts = [bytes([len(label)]), label.encode(), le64(len(payload))]
    for i in range(0, len(payload), SEGMENT):
        parts += [b"\x00", payload[i : i + SEGMENT]]
    return b"".join(parts)


class Session:
    """The chain of hashes over what both sides have agreed on."""

    def __init__(self):
        self.sid = bytes(32)

    def bind(self, label, fact):
        label = label.encode()
        self.sid = hashlib.sha256(b"vesica session v1" + self.sid + le64(len(label)) + label + fact).digest()
        return self.sid


class Channel:
    """Messages over a stream, and the session that belongs to it."""

    def __init__(self, stream):
        self.stream = stream
        self.session = Session()
        self.last_busy = time.monotonic()
        # (direction, label, payload) of each message, for tests.
        self.log = None

    @property
    def sid(self):
        return self.session.sid

    def send(self, label, payload=b""):
        if self.log is not None:
            self.log.append(("sent", label, payload))
        self.stream.write(frame(label, payload))

    def flush(self):
        self.stream.flush()

    def busy(self):
        """Called often during long computations: a keep-alive once a second."""
        if time.monotonic() - self.last_busy >= 1:
            self.last_busy = time.monotonic()
            self.stream.write(frame("busy", b""))
            self.flush()

    def abort(self, code):
        self.stream.write(bytes([0xFF, code]))
        self.flush()

    def receive(self, label, length):
        """The payload of the next message, which must have this label and this length."""
        return self._receive(label, length, length)

    def receive_at_most(self, label, most):
        return self._receive(label, 0, most)

    def exchange(self, label, payload=b""):
        self.send(label, payload)
        return self.receive(label, len(payload))

    def _receive(self, label, least, most):
        self.flush()
        for _ in range(MOST_BUSY + 1):
            found, length = self._header()
            if found == "busy" and length == 0 and label != "busy":
                continue
            if found != label:
                raise Refused(f"unexpected label {found!r} instead of {label!r}")
            if not least <= length <= most:
                raise Refused(f"wrong length: {length} bytes of {label!r}")
            payload = self._payload(length)
            if self.log is not None:
                self.log.append(("received", label, payload))
            return payload
        raise Refused("too many keep-alives")

    def _first(self):
        first = self.stream.read(1)[0]
        if first == 0xFF:
            code = self.stream.read(1)[0]
            raise Aborted(code if code in CODES else 5)
        return first

    def _header(self):
        n = self._first()
        if not 1 <= n <= 40:
            raise Refused("not a message: a label has 1 to 40 characters")
        label = self.stream.read(n)
        if not LABEL.fullmatch(label):
            raise Refused("not a message: a label has another character")
        return label.decode(), int.from_bytes(self.stream.read(8), "little")

    def _payload(self, length):
        parts = []
        while length > 0:
            if self._first() != 0:
                raise Refused("malformed: a segment begins with another byte than 0")
            part = self.stream.read(min(length, SEGMENT))
            parts.append(part)
            length -= len(part)
        return b"".join(parts)


class Bytes:
    """A stream that has been recorded: reads them, and collects what is written."""

    def __init__(self, data=b""):
        self.data = data
        self.written = b""

    def write(self, data):
        self.written += data

    def flush(self):
        pass

    def read(self, count):
        if len(self.data) < count:
            raise Closed()
        taken, self.data = self.data[:count], self.data[count:]
        return taken
