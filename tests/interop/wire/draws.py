"""primitives.md, section 6, and vectors.md, section 2: random numbers, and how they are made of bytes."""

import os

import numpy as np
from blake3 import blake3

from . import group
from .primitives import blocks


class Draws:
    """What is made of bytes. `bytes(count)` is that of the kinds below."""

    def block(self):
        return self.bytes(16)

    def blocks(self, count):
        return blocks(self.bytes(16 * count))

    def scalar(self):
        # Zero has a probability of 2^-252.
        return int.from_bytes(self.bytes(64), "little") % group.ORDER

    def element(self):
        return group.from_uniform(self.bytes(64))

    def places(self, bound, count):
        """`count` numbers below `bound`. The bias of this simple rule is below bound / 2^32."""
        u = np.frombuffer(self.bytes(4 * count), dtype="<u4").astype(np.uint64)
        return (u * np.uint64(bound) >> np.uint64(32)).astype(np.int64)


class SystemDraws(Draws):
    """Randomness of the operating system."""

    def bytes(self, count):
        return os.urandom(count)


class NamedDraws(Draws):
    """The fixed randomness of the test vectors."""

    def __init__(self, name):
        self.hasher = blake3(name.encode(), derive_key_context="vesica test vectors v1")
        self.taken = 0

    def bytes(self, count):
        data = self.hasher.digest(length=count, seek=self.taken)
        self.taken += count
        return data
