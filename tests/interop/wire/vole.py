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
    def random_ots(self):
        return self.pieces * self.blocks * self.depth


def dimensions(m, malicious):
    longest = 393216 if malicious else 196608
    p = max(1, -(-m // longest))
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


def answer_of(chi, z):
    return derive("vesica noise check v1", chi + to_bytes(z))


SHORT = 768


def sender(extension, draw, m, bits):
    """S: b."""
    if m <= SHORT:
        return weighted(extension.correlated(m * bits), bits)
    channel, delta = extension.channel, extension.delta
    d = dimensions(m, extension.malicious)
    pairs = extension.random(d.random_ots)
    values = d.pieces * d.blocks + d.masks
    if d.pieces == 1:
        q = weighted(extension.correlated(values * bits), bits)
    else:
        q = sender(extension, draw, values, bits)
    keys = pairs.reshape(d.pieces, d.blocks, d.depth, 2, 2)
    vectors = []
    for piece in range(d.pieces):
        leaves = trees.give(channel, draw, keys[piece], d.size)
        own = q[piece * d.blocks : (piece + 1) * d.blocks]
        channel.send("noise/corrections", to_bytes(xor_sum(leaves, axis=1) ^ own))
        vectors.append(leaves.reshape(-1, 2))
    channel.flush()
    if extension.malicious:
        data = channel.receive("noise/challenge", 32)
        chi, masked = data[:16], number(blocks(data[16:])[0])
        w = np.concatenate(vectors)
        weights = gf128.powers(int.from_bytes(chi, "little"), len(w))
        z = gf128.inner_product(w, weights) ^ q[-1] ^ from_numbers([gf128.product(masked, delta)])[0]
        channel.send("noise/answer", answer_of(chi, z))
        channel.flush()
    return np.concatenate([compress(w, d.size)[: d.entries] for w in vectors])[:m]


def receiver(extension, draw, m, bits):
    """R: a and c."""
    if m <= SHORT:
        y = low_bits(draw.blocks(m), bits)
        return y, weighted(extension.correlated(bits_of(y).reshape(-1, 128)[:, :bits].reshape(-1)), bits)
    channel = extension.channel
    d = dimensions(m, extension.malicious)
    places = draw.places(d.size, d.pieces * d.blocks)
    values = d.pieces * d.blocks + d.masks
    if d.pieces == 1:
        # The order of the draws is the program's: places, then values, whatever is sent when.
        y = low_bits(draw.blocks(values), bits)
    chosen = extension.random(trees.choices(places, d.size))
    if d.pieces == 1:
        big_y = weighted(extension.correlated(bits_of(y).reshape(-1, 128)[:, :bits].reshape(-1)), bits)
    else:
        y, big_y = receiver(extension, draw, values, bits)
    keys = chosen.reshape(d.pieces, d.blocks, d.depth, 2)
    every = np.arange(d.blocks)
    vectors, noises = [], []
    for piece in range(d.pieces):
        part = slice(piece * d.blocks, (piece + 1) * d.blocks)
        v = trees.choose(channel, keys[piece], places[part], d.size)
        corrections = blocks(channel.receive("noise/corrections", 16 * d.blocks))
        v[every, places[part]] = corrections ^ big_y[part] ^ xor_sum(v, axis=1)
        e = np.zeros_like(v)
        e[every, places[part]] = y[part]
        vectors.append(v.reshape(-1, 2))
        noises.append(e.reshape(-1, 2))
    if extension.malicious:
        chi = draw.block()
        v = np.concatenate(vectors)
        weights = gf128.powers(int.from_bytes(chi, "little"), len(v))
        at = np.arange(d.pieces * d.blocks) * d.size + places
        x = gf128.inner_product(y[:-1], weights[at])
        channel.send("noise/challenge", chi + to_bytes(x ^ y[-1]))
        answer = channel.receive("noise/answer", 32)
        if answer != answer_of(chi, gf128.inner_product(v, weights) ^ big_y[-1]):
            raise Refused("one noise and one Δ in every block")
    a, c = (
        np.concatenate([compress(z, d.size)[: d.entries] for z in many])[:m] for many in (noises, vectors)
    )
    return a, c


def low_bits(many, bits):
    mask = np.array([(1 << min(bits, 64)) - 1, (1 << max(0, bits - 64)) - 1], dtype=np.uint64)
    return many & mask
