"""ot.md, section 3: SoftSpokenOT. S holds Δ and is the sender of the extension; R has the choices."""

import numpy as np

from . import gf128, ot, trees
from .errors import Refused
from .primitives import (
    blocks, blocks_of_bits, counters, cr, derive, number, numbers, prg, tcr, to_bytes, transpose, xor_sum,
)  # fmt: skip

TREES, LEAVES, DEPTH = 16, 256, 8
PIECE = 32  # blocks of rows


class Streams:
    """The streams of the 16·256 leaves, all consumed alike."""

    def __init__(self, leaves):
        self.seeds = [to_bytes(leaf) for leaf in leaves.reshape(-1, 2)]
        self.used = 0

    def take(self, count):
        """The next blocks of every stream: (16, 256, count, 2)."""
        taken = np.stack([prg(seed, self.used, count) for seed in self.seeds])
        self.used += count
        return taken.reshape(TREES, LEAVES, count, 2)


def pieces(total):
    return [(first, min(PIECE, total - first)) for first in range(0, total, PIECE)]


def point_of(sid, chi):
    """Where columns are evaluated: what both sides make of the challenge in this session."""
    return int.from_bytes(derive("vesica extension challenge v1", sid + chi)[:16], "little")


class Side:
    """What both sides have in common."""

    def start(self, malicious, h, seed):
        self.malicious = malicious
        self.h = h
        self.seed = seed
        self.random_ots = 0
        self.checked = 0

    def hashed(self, first, rows):
        if not self.malicious:
            return cr(self.h, rows)
        return tcr(self.h, counters(first, len(rows)), rows)

    def hash_next(self, rows):
        """The hashes of each of `rows`: they are the next random OTs."""
        first = self.random_ots
        self.random_ots += len(rows[0])
        return [self.hashed(first, r) for r in rows]

    def blocks_of(self, n):
        return -(-n // 128) + (1 if self.malicious else 0)


class Sender(Side):
    """S."""

    def __init__(self, channel, draw, malicious):
        self.channel = channel
        h = draw.block()
        channel.send("softspoken/session", h)
        self.delta_bytes = draw.block()
        self.delta = number(blocks(self.delta_bytes)[0])
        self.points = np.frombuffer(self.delta_bytes, dtype=np.uint8).astype(np.int64)
        choices = trees.choices(self.points, LEAVES).tolist()
        chosen = (ot.mr19_chooser if malicious else ot.np01_chooser)(channel, draw, choices)
        keys = blocks(b"".join(chosen)).reshape(TREES, DEPTH, 2)
        leaves = trees.choose(channel, keys, self.points, LEAVES)
        if malicious:
            leaves = trees.check(channel, leaves, self.points)
        self.start(malicious, h, draw.block() if malicious else None)
        self.streams = Streams(leaves)

    def correlated(self, n):
        """The q of n rows."""
        if n == 0:
            return np.zeros((0, 2), dtype=np.uint64)
        total = self.blocks_of(n)
        streams = self.streams.take(total)
        streams[np.arange(TREES), self.points] = 0
        x = np.arange(LEAVES)
        columns = np.zeros((128, total, 2), dtype=np.uint64)
        for g, d in enumerate(self.points):
            for b in range(8):
                columns[8 * g + b] = xor_sum(streams[g][(x ^ d) >> b & 1 == 1])
        for first, count in pieces(total):
            u = blocks(self.channel.receive("softspoken/corrections", 256 * count)).reshape(TREES, count, 2)
            for i in range(128):
                if self.delta >> i & 1:
                    columns[i, first : first + count] ^= u[i // 8]
        if self.malicious:
            self.check(columns)
        return transpose(columns)[:n]

    def check(self, columns):
        chi = to_bytes(prg(self.seed, self.checked, 1))
        self.checked += 1
        self.channel.send("extension/challenge", chi)
        answer = numbers(blocks(self.channel.receive("extension/answer", 16 * 129)))
        mine = numbers(gf128.horner(point_of(self.channel.sid, chi), columns))
        if any(mine[i] != answer[1 + i] ^ (answer[0] if self.delta >> i & 1 else 0) for i in range(128)):
            raise Refused("choices equal in every column")

    def random(self, n):
        """Both messages of n random OTs."""
        q = self.correlated(n)
        return np.stack(self.hash_next([q, q ^ blocks(self.delta_bytes)]), axis=1)


class Receiver(Side):
    """R."""

    def __init__(self, channel, draw, malicious):
        self.channel = channel
        h = channel.receive("softspoken/session", 16)
        pairs = (ot.mr19_giver if malicious else ot.np01_giver)(channel, draw, TREES * DEPTH)
        keys = blocks(b"".join(m for pair in pairs for m in pair)).reshape(TREES, DEPTH, 2, 2)
        leaves = trees.give(channel, draw, keys, LEAVES)
        if malicious:
            leaves = trees.prove(channel, leaves)
        seed = draw.block() if malicious else None
        self.start(malicious, h, seed)
        self.streams = Streams(leaves)

    def correlated(self, choices):
        """The t of the rows."""
        n = len(choices)
        if n == 0:
            return np.zeros((0, 2), dtype=np.uint64)
        total = self.blocks_of(n)
        c = blocks_of_bits(choices)
        if self.malicious:
            c = np.concatenate([c, prg(self.seed, self.checked, 1)])
        streams = self.streams.take(total)
        x = np.arange(LEAVES)
        columns = np.zeros((128, total, 2), dtype=np.uint64)
        for g in range(TREES):
            for b in range(8):
                columns[8 * g + b] = xor_sum(streams[g][x >> b & 1 == 1])
        u = xor_sum(streams, axis=1) ^ c
        for first, count in pieces(total):
            self.channel.send("softspoken/corrections", to_bytes(u[:, first : first + count]))
        if self.malicious:
            self.checked += 1
            chi = self.channel.receive("extension/challenge", 16)
            answer = gf128.horner(point_of(self.channel.sid, chi), np.concatenate([c[None], columns]))
            self.channel.send("extension/answer", to_bytes(answer))
        self.channel.flush()
        return transpose(columns)[:n]

    def random(self, choices):
        """The chosen messages."""
        return self.hash_next([self.correlated(choices)])[0]
