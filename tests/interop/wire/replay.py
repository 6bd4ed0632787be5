"""Two parties of this implementation against each other, with the randomness of a test vector, and what they sent
against the vector: message by message."""

import queue
import threading

import numpy as np

from . import okvs, rr22
from .channel import Channel
from .errors import Closed
from .primitives import hash_of, unpack


class Half:
    """One end of a pair of streams within this process."""

    def __init__(self, incoming, outgoing):
        self.incoming, self.outgoing, self.buffer = incoming, outgoing, bytearray()

    def write(self, data):
        self.outgoing.put(bytes(data))

    def flush(self):
        pass

    def read(self, count):
        while len(self.buffer) < count:
            more = self.incoming.get(timeout=300)
            if not more:
                raise Closed("the other party of this process has stopped")
            self.buffer += more
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken


def both(first, second):
    """Runs two functions of a channel against each other. Returns both results and both channels."""
    one, two = queue.SimpleQueue(), queue.SimpleQueue()
    channels = [Channel(Half(one, two)), Channel(Half(two, one))]
    results, errors = [None, None], []

    def play(i, party):
        try:
            results[i] = party(channels[i])
        except BaseException as error:
            errors.append(error)
            channels[i].stream.write(b"")

    threads = []
    for i, party in enumerate((first, second)):
        channels[i].log = []
        threads.append(threading.Thread(target=play, args=(i, party)))
        threads[i].start()
    for thread in threads:
        thread.join()
    if errors:
        raise next((e for e in errors if not isinstance(e, Closed)), errors[0])
    return results, channels


def sent(channel):
    return [(label, payload) for direction, label, payload in channel.log if direction == "sent" and label != "end"]


def matches(payload, expected):
    """Whether a payload is the one of a vector, which may be given by its length and its hash."""
    if isinstance(expected, str):
        return payload.hex() == expected
    return len(payload) == expected["bytes"] and hash_of(payload).hex() == expected["blake3"]


def compare(channel, messages):
    """What was sent must be these messages. Returns how many they are."""
    own = sent(channel)
    assert [label for label, _ in own] == [m["label"] for m in messages]
    for i, ((label, payload), message) in enumerate(zip(own, messages)):
        assert matches(payload, message["payload"]), f"message {i}, {label}, differs"
    return len(own)


class RecordedColumns:
    """R's columns, of which any solution is right, are those of the vector, once they are known to be a solution."""

    def __init__(self, messages):
        self.payloads = [bytes.fromhex(m["payload"]) for m in messages if m["label"] == "rs21/columns"]
        self.verified = 0

    def __enter__(self):
        self.encode, self.send = okvs.encode, rr22.send_columns
        okvs.encode, rr22.send_columns = self._encode, self._send
        return self

    def __exit__(self, *_):
        okvs.encode, rr22.send_columns = self.encode, self.send

    def _encode(self, shape, seed, keys, values, draw):
        own = self.encode(shape, seed, keys, values, draw)
        rows = okvs.Rows(shape, seed, keys)
        assert np.array_equal(rows.decode(own), values)
        self.own, self.rows, self.values = own, rows, values
        return own

    def _send(self, channel, shape, masked, bits):
        recorded = np.concatenate([unpack(payload, shape.width, bits) for payload in self.payloads])
        a = masked ^ self.own
        assert np.array_equal(self.rows.decode(recorded ^ a), self.values), "the columns are no solution"
        self.verified += len(self.values)
        self.send(channel, shape, recorded, bits)
