"""primitives.md, sections 1, 3 and 4: blocks, bits, AES and BLAKE3.

A vector of n blocks is an array of numbers of 64 bits with the shape (n, 2), lower half first.
"""

import numpy as np
from blake3 import blake3
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


def hash_of(message, length=32):
    return blake3(message).digest(length=length)


def keyed(key, message, length=32):
    return blake3(message, key=key).digest(length=length)


def derive(context, material, length=32):
    return blake3(material, derive_key_context=context).digest(length=length)


def le32(n):
    return n.to_bytes(4, "little")


def le64(n):
    return n.to_bytes(8, "little")


def le128(n):
    return n.to_bytes(16, "little")


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


def blocks(data):
    """Bytes as blocks."""
    return np.frombuffer(data, dtype="<u8").reshape(-1, 2)


def block(number):
    """A number as a block."""
    return blocks(le128(number))[0]


def number(one_block):
    """A block as a number."""
    return int(one_block[0]) | int(one_block[1]) << 64


def numbers(many):
    """Blocks as numbers of Python."""
    return [low | high << 64 for low, high in many.reshape(-1, 2).tolist()]


def from_numbers(many):
    """Numbers of Python as blocks."""
    mask = (1 << 64) - 1
    return np.array([(n & mask, n >> 64) for n in many], dtype=np.uint64).reshape(-1, 2)


def to_bytes(array):
    return np.ascontiguousarray(array).tobytes()


def xor_sum(array, axis=0):
    return np.bitwise_xor.reduce(array, axis=axis)


# Bits


def bits_of(vector):
    """The bits of blocks: n blocks have 128·n of them."""
    return np.unpackbits(np.ascontiguousarray(vector).view(np.uint8).reshape(-1), bitorder="little")


def blocks_of_bits(bits):
    """A vector of bits, padded with zeros to whole blocks."""
    short = -len(bits) % 128
    padded = np.concatenate([np.asarray(bits, dtype=np.uint8), np.zeros(short, dtype=np.uint8)])
    return np.packbits(padded, bitorder="little").view(np.uint64).reshape(-1, 2)


def transpose(columns):
    """128 columns of r bits each, of the shape (128, r/128, 2), to r rows."""
    count = columns.shape[1] * 128
    bits = np.unpackbits(np.ascontiguousarray(columns).view(np.uint8).reshape(128, -1), axis=1, bitorder="little")
    rows = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little")
    return rows.reshape(-1).view(np.uint64).reshape(count, 2)


def pack(vector, bits):
    """The low `bits` bits of each block, without gaps."""
    if len(vector) == 0:
        return b""
    all_bits = bits_of(vector).reshape(-1, 128)[:, :bits]
    return np.packbits(all_bits.reshape(-1), bitorder="little").tobytes()


def unpack(data, count, bits):
    """`count` numbers of `bits` bits, as blocks. What follows them is ignored."""
    if count == 0:
        return np.zeros((0, 2), dtype=np.uint64)
    packed = np.unpackbits(np.frombuffer(data, dtype=np.uint8), bitorder="little")[: count * bits]
    wide = np.zeros((count, 128), dtype=np.uint8)
    wide[:, :bits] = packed.reshape(count, bits)
    return blocks_of_bits(wide.reshape(-1))


# Functions from AES


def aes_bytes(key, data):
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return encryptor.update(data) + encryptor.finalize()


def aes(key, many):
    """Each block encrypted; the array keeps its shape."""
    return np.frombuffer(aes_bytes(key, to_bytes(many)), dtype=np.uint64).reshape(many.shape)


def counters(first, count):
    array = np.zeros((count, 2), dtype=np.uint64)
    array[:, 0] = np.arange(first, first + count, dtype=np.uint64)
    return array


def prg(seed, first, count):
    """Blocks first … first + count − 1 of PRG(seed)."""
    return aes(seed, counters(first, count))


def cr(key, many):
    return aes(key, many) ^ many


def ccr(key, many):
    return cr(key, np.stack([many[..., 1], many[..., 1] ^ many[..., 0]], axis=-1))


def tcr(key, tweaks, many):
    inner = aes(key, many)
    return aes(key, inner ^ tweaks) ^ inner


def row_hash(k, u, y, z):
    key = derive("vesica row hash v1", k)
    return keyed(key, u + y + z + bytes(16))[:16]
