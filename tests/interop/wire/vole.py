"""vole.md: silent VOLE. S gets b; R gets a and c = a·Δ ⊕ b."""

from dataclasses import dataclass

import numpy as np

from . import gf128, trees
from .code import compress, pow2
from .errors import Refused
from .primitives import bits_of, blocks, derive, from_numbers, number, to_bytes, xor_sum


@dataclass
class Dimensions:
    """Section 1."""

    pieces: int
    entries: int  # of a piece, m'
    blocks: int  # of noise in a piece, t
    size: int  # of a block, B
    masks: int

    @property
    def depth(self):
        return trees.depth(self.size)

    @property
    def tree_ots(self):
        return self.pieces * self.blocks * self.depth

    @property
    def values(self):
        """V: one for each block, and the mask."""
        return self.pieces * self.blocks + self.masks


LONGEST = 196608


def dimensions(m, malicious):
    p = max(1, -(-m // LONGEST))
    entries = -(-m // p)
    e = max(2 * entries, 12288)
    t = 768
    size = max(16, -(-e // 768))
    if malicious:
        if 4 * pow2(size) > 5 * size:
            beta = 1 << (size.bit_length() - 1)
            whole = -(-e // beta)
            t = max(768, -(-whole // 24) * 24)
        size = pow2(max(16, -(-e // t)))
    return Dimensions(p, entries, t, size, 1 if malicious else 0)


def weighted(rows, bits):
    """Σ_b x^b·row_{gl + b}, for each g."""
    rows = rows.reshape(-1, bits, 2)
    result = np.zeros((len(rows), 2), dtype=np.uint64)
    for b in range(bits - 1, -1, -1):
        result = gf128.times_x(result) ^ rows[:, b]
    return result


def answer_of(sid, chi, z):
    return derive("vesica noise check v2", sid + chi + to_bytes(z))


SHORT = 768


def levels(m, malicious):
    """The dimensions of each level; none for a short VOLE."""
    if m <= SHORT:
        return []
    found = [dimensions(m, malicious)]
    while found[-1].pieces > 1:
        found.append(dimensions(found[-1].values, malicious))
    return found


def by_level(dims, ots):
    """The rows of a call for trees, those of level 0 first, as (p, t, D, 2) for each level."""
    ends = np.cumsum([d.tree_ots for d in dims])[:-1]
    parts = np.split(ots, ends)
    return [part.reshape(d.pieces, d.blocks, d.depth, 2) for d, part in zip(dims, parts)]


def ots_of(dims, m, bits):
    """How many OTs the one call has: those of the trees, and those of the values of the last level."""
    return sum(d.tree_ots for d in dims), (dims[-1].values if dims else m) * bits


def shortened(many, d, m):
    """Compressed pieces, one after the other, cut to the length of the level."""
    return np.concatenate([compress(z, d.size)[: d.entries] for z in many])[:m]


def sender(extension, draw, m, bits):
    """S: b."""
    channel, delta = extension.channel, extension.delta
    dims = levels(m, extension.malicious)
    lengths = [m, *(d.values for d in dims)]
    of_trees, of_values = ots_of(dims, m, bits)
    rows = extension.correlated(of_trees + of_values)
    b = weighted(rows[of_trees:], bits)
    to_check = []
    for d, masks, length in reversed(list(zip(dims, by_level(dims, rows[:of_trees]), lengths))):
        q, vectors = b, []
        drawn = [(draw.bytes(32), draw.blocks(d.blocks)) for _ in range(d.pieces)]
        for piece, (keys, first) in enumerate(drawn):
            sums, leaves = trees.give_halves(keys, first, blocks(extension.delta_bytes), d.size)
            channel.send("half-tree/keys", keys)
            channel.send("half-tree/sums", to_bytes(sums ^ masks[piece]))
            own = q[piece * d.blocks : (piece + 1) * d.blocks]
            channel.send("noise/corrections", to_bytes(xor_sum(leaves, axis=1) ^ own))
            vectors.append(leaves.reshape(-1, 2))
        channel.flush()
        b = shortened(vectors, d, length)
        to_check.append((np.concatenate(vectors), q))
    if extension.malicious:
        for w, q in to_check:
            data = channel.receive("noise/challenge", 32)
            chi, masked = data[:16], number(blocks(data[16:])[0])
            weights = gf128.powers(int.from_bytes(chi, "little"), len(w))
            z = gf128.inner_product(w, weights) ^ q[-1] ^ from_numbers([gf128.product(masked, delta)])[0]
            channel.send("noise/answer", answer_of(channel.sid, chi, z))
        channel.flush()
    return b


def receiver(extension, draw, m, bits):
    """R: a, and a function that returns c once it has received the answers of all levels and found them right. Between
    the two, R may send what depends on a."""
    channel, malicious = extension.channel, extension.malicious
    dims = levels(m, malicious)
    lengths = [m, *(d.values for d in dims)]
    places = [draw.places(d.size, d.pieces * d.blocks) for d in dims]
    of_trees, _ = ots_of(dims, m, bits)
    a = low_bits(draw.blocks(lengths[-1]), bits)
    choices = [trees.choices(at, d.size) for at, d in zip(places, dims)]
    choices.append(bits_of(a).reshape(-1, 128)[:, :bits].reshape(-1))
    rows = extension.correlated(np.concatenate(choices))
    c = weighted(rows[of_trees:], bits)
    challenges, expected = [], []
    for d, t, at, length in reversed(list(zip(dims, by_level(dims, rows[:of_trees]), places, lengths))):
        chi = draw.block() if malicious else None
        y, big_y = a, c
        every = np.arange(d.blocks)
        vectors, noises = [], []
        for piece in range(d.pieces):
            part = slice(piece * d.blocks, (piece + 1) * d.blocks)
            v = trees.choose_halves(channel, t[piece], at[part], d.size)
            corrections = blocks(channel.receive("noise/corrections", 16 * d.blocks))
            v[every, at[part]] = corrections ^ big_y[part] ^ xor_sum(v, axis=1)
            e = np.zeros_like(v)
            e[every, at[part]] = y[part]
            vectors.append(v.reshape(-1, 2))
            noises.append(e.reshape(-1, 2))
        if malicious:
            v = np.concatenate(vectors)
            weights = gf128.powers(int.from_bytes(chi, "little"), len(v))
            of_noise = np.arange(d.pieces * d.blocks) * d.size + at
            x = gf128.inner_product(y[:-1], weights[of_noise])
            challenges.append(chi + to_bytes(x ^ y[-1]))
            expected.append(answer_of(channel.sid, chi, gf128.inner_product(v, weights) ^ big_y[-1]))
        a, c = shortened(noises, d, length), shortened(vectors, d, length)
    for challenge in challenges:
        channel.send("noise/challenge", challenge)

    def checked():
        answers = [channel.receive("noise/answer", 32) for _ in expected]
        if answers != expected:
            raise Refused("one noise and one Δ in every block")
        return c

    return a, checked


def low_bits(many, bits):
    mask = np.array([(1 << min(bits, 64)) - 1, (1 << max(0, bits - 64)) - 1], dtype=np.uint64)
    return many & mask
