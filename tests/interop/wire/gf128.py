"""primitives.md, section 2: the field GF(2^128).

An element alone is a number of Python; many elements are blocks.
"""

import numpy as np

REDUCTION = 0x87
MASK = (1 << 128) - 1


def times_x(many):
    """Each block times x."""
    low, high = many[..., 0], many[..., 1]
    carry = high >> np.uint64(63)
    result = np.empty_like(many)
    result[..., 1] = high << np.uint64(1) | low >> np.uint64(63)
    result[..., 0] = low << np.uint64(1) ^ carry * np.uint64(REDUCTION)
    return result


def product(a, b):
    """The product of two elements."""
    result = 0
    while b:
        if b & 1:
            result ^= a
        a <<= 1
        if a >> 128:
            a = a & MASK ^ REDUCTION
        b >>= 1
    return result


def power(a, exponent):
    result = 1
    while exponent:
        if exponent & 1:
            result = product(result, a)
        a = product(a, a)
        exponent >>= 1
    return result


def inverse(a):
    return power(a, (1 << 128) - 2)


def times(many, factor):
    """Each block times the same element, by Horner's rule over the bits of the factor."""
    result = np.zeros_like(many)
    for bit in range(factor.bit_length() - 1, -1, -1):
        result = times_x(result)
        if factor >> bit & 1:
            result ^= many
    return result


def products(a, b):
    """The products of two arrays of blocks of the same shape, place by place."""
    result = np.zeros_like(a)
    for bit in range(127, -1, -1):
        result = times_x(result)
        chosen = b[..., bit // 64] >> np.uint64(bit % 64) & np.uint64(1)
        result ^= a * chosen[..., None]
    return result


def powers(x, count):
    """x^0 … x^(count − 1), as blocks."""
    result = np.zeros((max(count, 1), 2), dtype=np.uint64)
    result[0, 0] = 1
    done, step = 1, x
    while done < count:
        more = min(done, count - done)
        result[done : done + more] = times(result[:more], step)
        done += more
        step = product(step, step)
    return result[:count]


def inner_product(a, b):
    """The sum of the products, along the last axis of blocks."""
    return np.bitwise_xor.reduce(products(a, b), axis=-2)


def horner(x, many):
    """Σ x^(n − i)·many_i over the last axis of blocks, i = 1 … n."""
    weights = powers(x, many.shape[-2])[::-1]
    return inner_product(many, np.broadcast_to(weights, many.shape))

