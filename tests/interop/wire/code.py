"""vole.md, section 3: the block–accumulate code."""

from functools import cache

import numpy as np

from .primitives import aes_bytes, le64, prg

ROWS = [0xDC5, 0xB8B, 0xF16, 0xE2D, 0xC5B, 0x8B7, 0x96E, 0xADC, 0xDB8, 0xB71, 0xEE2, 0x7FF]


def golay(i, j):
    if i == 11 or j == 11:
        return 0 if i == j else 1
    return 0 if (j - i) % 11 in (1, 3, 4, 5, 9) else 1


P = [[golay(i, j) for j in range(12)] for i in range(12)]
assert [sum(bit << j for j, bit in enumerate(row)) for row in P] == ROWS


def pow2(n):
    return 1 << (n - 1).bit_length()


@cache
def permutation(n, rho):
    seed = aes_bytes(b"vesica/ba-code/1", le64(n) + le64(rho))
    buckets = min(256, pow2(-(-n // 16384)))
    stream = prg(seed, 0, -(-n // 16)).view(np.uint8).reshape(-1)[:n] % buckets
    order = np.argsort(stream, kind="stable").tolist()
    sizes = np.bincount(stream, minlength=buckets).tolist()
    second = aes_bytes(seed, b"\xff" * 16)
    # One number for each exchange, and a few for those that are rejected.
    supply = iter(prg(second, 0, n // 4 + 1024).view(np.uint32).reshape(-1).tolist())
    first = 0
    for size in sizes:
        for i in range(size - 1, 0, -1):
            bound = i + 1
            wide = next(supply) * bound
            while wide & 0xFFFFFFFF < (1 << 32) % bound:
                wide = next(supply) * bound
            j = first + (wide >> 32)
            order[first + i], order[j] = order[j], order[first + i]
        first += size
    return np.array(order)


def running_sums(z):
    return np.bitwise_xor.accumulate(z, axis=0)


def compress(z, block_size):
    """N blocks, of which `block_size` follow one another in each block of noise, to N/2."""
    n = len(z)
    z = running_sums(z.reshape(-1, block_size, 2).transpose(1, 0, 2).reshape(n, 2))
    z = z.reshape(block_size, -1, 2).transpose(1, 0, 2).reshape(n, 2)
    for rho in (1, 2):
        z = running_sums(z[permutation(n, rho)])
    groups = z[permutation(n, 0)].reshape(-1, 24, 2)
    result = groups[:, :12].copy()
    for i in range(12):
        for j in range(12):
            if P[i][j]:
                result[:, i] ^= groups[:, 12 + j]
    return result.reshape(-1, 2)
