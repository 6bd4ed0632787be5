"""okvs.md: the oblivious key-value store."""

from dataclasses import dataclass
from math import isqrt, lgamma, log, log1p

import numpy as np

from . import gf128
from .primitives import aes_bytes, cr, from_numbers, le128, numbers

ONE = 1 << 32


# Section 1: shape


def l2(x):
    e = x.bit_length() - 1
    z, r = x << (63 - e), e
    for _ in range(32):
        z = z * z >> 63
        bit = z >> 64
        z >>= bit
        r = 2 * r + bit
    return r


def ex(f, x):
    root, power = 1 << 61, 1 << 62
    for i in range(31, -1, -1):
        root = isqrt(root << 62)
        if x >> i & 1:
            power = power * root >> 62
    return (f * power >> 62) >> (x >> 32)


def sparse_columns(n, security):
    w = l2(3)
    w2 = w * w >> 32
    w3 = w2 * w >> 32
    slope = (5550 * l2(n) + 930 * w3 + 29250 * w - 10100 * w2 - 1330 * ONE) // 10000
    margin = (10 * security + 92) * ONE // 10
    e = 1223 * ONE // 1000 + ex(margin, slope)
    return -(-e * n // ONE)


def tail(n, c, more):
    """ln Pr[Bin(n, 1/c) > more], for `more` of at least the mean: terms that decrease, each from the one before."""
    i = more + 1
    if i > n:
        return float("-inf")
    first = lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) - i * log(c) + (n - i) * log1p(-1 / c)
    total = term = 1.0
    while i < n and term > 1e-17 * total:
        term *= (n - i) / ((i + 1) * (c - 1))
        total += term
        i += 1
    return first + log(total)


def max_load(n, c, security):
    """Section 2."""
    if c == 1 or n == 0:
        return n
    mean = -(-n // c)
    low, high = mean, min(n, mean + 20 * isqrt(mean) + 200)
    while low < high:
        middle = (low + high) // 2
        if log(c) + tail(n, c, middle) <= -security * log(2):
            high = middle
        else:
            low = middle + 1
    return low


@dataclass
class Shape:
    clusters: int
    capacity: int
    sparse: int
    dense: int
    field: bool

    @property
    def width(self):
        return self.sparse + self.dense

    @property
    def columns(self):
        return self.clusters * self.width


def shape(n, malicious, security=40):
    if malicious and n <= 64:
        return Shape(1, n, 0, max(1, n), True)
    c = max(1, -(-n // (65536 if malicious else 32768)))
    capacity = max_load(n, c, security + 1)
    strict = security + 1 + (c - 1).bit_length()
    if capacity <= 64:
        s, gap = 0, max(1, capacity)
    else:
        s = sparse_columns(capacity, strict)
        gap = -(-strict * ONE // l2(s))
    d = gap + strict
    if malicious:
        triples = s * (s - 1) * (s - 2) // 6
        d = max(d, 128 - min(128, triples.bit_length() - 1 if triples else 0))
    return Shape(c, capacity, s, d, False)


# Section 3: rows


class Rows:
    """For many keys: the cluster of each, its sparse columns, and the hash that its dense part is made of."""

    def __init__(self, shape, seed, keys):
        self.shape = shape
        h = cr(aes_bytes(seed, le128(0)), keys)
        self.g = cr(aes_bytes(seed, le128(1)), keys)
        quarters = np.ascontiguousarray(h).view(np.uint32).reshape(-1, 4).astype(np.uint64)
        shift = np.uint64(32)
        self.cluster = (quarters[:, 0] * np.uint64(shape.clusters) >> shift).astype(np.int64)
        s = shape.sparse
        if s == 0:
            self.sparse = np.zeros((len(keys), 0), dtype=np.int64)
            return
        if s < 65536 and shape.capacity < 65536:
            a, b, c = (
                (quarters[:, 1 + k] * np.uint64(s - k) >> shift).astype(np.int64) for k in range(3)
            )
        else:
            wide = [[], [], []]
            for f in numbers(h):
                f &= ~0xFFFFFFFF
                for k in range(3):
                    wide[k].append(f * (s - k) >> 128)
                    f = f * (s - k) & ((1 << 128) - 1)
            a, b, c = (np.array(many, dtype=np.int64) for many in wide)
        b = b + (b >= a)
        c = c + (c >= np.minimum(a, b))
        c = c + (c >= np.maximum(a, b))
        self.sparse = np.stack([a, b, c], axis=1)

    def decode(self, columns):
        """The value of each key."""
        shape = self.shape
        base = self.cluster * shape.width
        result = np.zeros((len(base), 2), dtype=np.uint64)
        for k in range(self.sparse.shape[1]):
            result ^= columns[base + self.sparse[:, k]]
        base = base + shape.sparse
        if shape.field:
            # Horner's rule: Σ g^(j+1)·column j.
            for j in range(shape.dense - 1, -1, -1):
                result = gf128.products(result ^ columns[base + j], self.g)
            return result
        for j in range(shape.dense):
            bit = self.g[:, j // 64] >> np.uint64(j % 64) & np.uint64(1)
            result ^= columns[base + j] * bit[:, None]
        return result


# Section 4: encoding


def encode(shape, seed, keys, values, draw):
    """Columns from which the keys decode to the values."""
    rows = Rows(shape, seed, keys)
    free = numbers(draw.blocks(shape.columns))
    if shape.field:
        return encode_field(rows, values)
    result = []
    for cluster in range(shape.clusters):
        members = np.flatnonzero(rows.cluster == cluster)
        if len(members) > shape.capacity:
            raise RuntimeError("a cluster of the store is too full")
        mask = (1 << shape.dense) - 1
        result += solve(
            shape,
            rows.sparse[members].tolist(),
            [g & mask for g in numbers(rows.g[members])],
            numbers(values[members]),
            free[cluster * shape.width : (cluster + 1) * shape.width],
        )
    return from_numbers(result)


def solve(shape, sparse, dense, values, free):
    """The columns of a cluster. A row is its sparse columns, the mask of its dense ones, and its value."""
    occurs = [set() for _ in range(shape.sparse)]
    for row, places in enumerate(sparse):
        for place in places:
            occurs[place].add(row)
    single = [place for place in range(shape.sparse) if len(occurs[place]) == 1]
    left = set(range(len(values)))
    removed, aside = [], []
    while left:
        if single:
            place = single.pop()
            if len(occurs[place]) != 1:
                continue
            row = next(iter(occurs[place]))
            removed.append((row, place))
        else:
            row = left.pop()
            left.add(row)
            aside.append(row)
        left.discard(row)
        for other in sparse[row]:
            occurs[other].discard(row)
            if len(occurs[other]) == 1:
                single.append(other)
    # Each sparse column as a constant, and the dense columns that it depends on.
    column = [(value, 0) for value in free[: shape.sparse]]
    for row, place in reversed(removed):
        constant, mask = values[row], dense[row]
        for other in sparse[row]:
            if other != place:
                constant ^= column[other][0]
                mask ^= column[other][1]
        column[place] = (constant, mask)
    equations = []
    for row in aside:
        constant, mask = values[row], dense[row]
        for other in sparse[row]:
            constant ^= column[other][0]
            mask ^= column[other][1]
        equations.append((mask, constant))
    solution = eliminate(equations, free[shape.sparse :])

    def evaluate(constant, mask):
        for j, value in enumerate(solution):
            if mask >> j & 1:
                constant ^= value
        return constant

    return [evaluate(constant, mask) for constant, mask in column] + solution


def eliminate(equations, free):
    """Values of the dense columns. What the equations leave free stays as it is."""
    reduced = {}
    for mask, constant in equations:
        for pivot, (other, value) in reduced.items():
            if mask >> pivot & 1:
                mask ^= other
                constant ^= value
        if mask == 0:
            if constant:
                raise RuntimeError("the store has no solution")
            continue
        pivot = mask.bit_length() - 1
        for key, (other, value) in reduced.items():
            if other >> pivot & 1:
                reduced[key] = (other ^ mask, value ^ constant)
        reduced[pivot] = (mask, constant)
    solution = list(free)
    for pivot, (mask, constant) in reduced.items():
        for j, value in enumerate(free):
            if j not in reduced and mask >> j & 1:
                constant ^= value
        solution[pivot] = constant
    return solution


def encode_field(rows, values):
    """Elimination in the field, of at most 64 rows."""
    n = len(values)
    if n == 0:
        return np.zeros((rows.shape.columns, 2), dtype=np.uint64)
    matrix = np.zeros((n, n + 1, 2), dtype=np.uint64)
    power = rows.g
    for j in range(n):
        matrix[:, j] = power
        power = gf128.products(power, rows.g)
    matrix[:, n] = values
    for i in range(n):
        pivot = next((r for r in range(i, n) if matrix[r, i].any()), None)
        if pivot is None:
            raise RuntimeError("the store has no solution")
        matrix[[i, pivot]] = matrix[[pivot, i]]
        matrix[i] = gf128.times(matrix[i], gf128.inverse(numbers(matrix[i, i])[0]))
        factors = matrix[:, i].copy()
        factors[i] = 0
        matrix ^= gf128.products(np.broadcast_to(matrix[i], matrix.shape), np.broadcast_to(factors[:, None], matrix.shape))
    return matrix[:, n].copy()
