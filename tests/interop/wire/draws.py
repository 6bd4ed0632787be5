"""primitives.md, section 6: random numbers."""

import os

import numpy as np

from . import group
from .primitives import blocks


class SystemDraws:
    """Randomness of the operating system."""

    def bytes(self, count):
        return os.urandom(count)

    def blocks(self, count):
        return blocks(self.bytes(16 * count))

    def scalar(self):
        while True:
            scalar = int.from_bytes(self.bytes(64), "little") % group.ORDER
            if scalar:
                return scalar

    def element(self):
        return group.from_uniform(self.bytes(64))

    def below(self, bound, count):
        """`count` uniform numbers below a bound of at most 2^31. The bias is below 2^-32 of one part."""
        wide = np.frombuffer(self.bytes(8 * count), dtype=np.uint64)
        return (wide % np.uint64(bound)).astype(np.int64)

    def bits(self, count):
        packed = np.frombuffer(self.bytes(-(-count // 8)), dtype=np.uint8)
        return np.unpackbits(packed, bitorder="little")[:count]
