"""rr22.md: the protocols `rr22` and `rr22-malicious`."""

from math import ceil, log2

import numpy as np

from . import extension, gf128, okvs, vole
from .errors import Refused
from .lists import receive_list, send_list, tag_bits, tag_of
from .primitives import aes, aes_bytes, blocks, cr, derive, keyed, le128, pack, prg, to_bytes, unpack, xor


def entry_bits(n_s, security=40):
    return ceil(security + log2(max(1, n_s)))


def split(data):
    return [data[i : i + 16] for i in range(0, len(data), 16)]


def keys_of(k):
    return [aes_bytes(k, le128(i)) for i in range(3)]


# Columns, cluster by cluster


def send_columns(channel, shape, columns, bits):
    for i in range(shape.clusters):
        channel.send("rs21/columns", pack(columns[i * shape.width : (i + 1) * shape.width], bits))
    channel.flush()


def receive_columns(channel, shape, bits):
    length = -(-shape.width * bits // 8)
    parts = [unpack(channel.receive("rs21/columns", length), shape.width, bits) for _ in range(shape.clusters)]
    return np.concatenate(parts)


# rr22


def receiver(channel, draw, items, n_s, security=40):
    """R: the places of its items that S has."""
    shape, bits = okvs.shape(len(items), False, security), entry_bits(n_s, security)
    a, checked = vole.receiver(extension.Receiver(channel, draw, False), draw, shape.columns, bits)
    k = draw.block()
    channel.send("rs21/seed", k)
    k0, k1, k2 = keys_of(k)
    keys = blocks(b"".join(items))
    free = SeededDraws(draw.block())
    columns = okvs.encode(shape, k0, keys, vole.low_bits(aes(k1, keys), bits), free)
    send_columns(channel, shape, a ^ columns, bits)
    values = cr(k2, okvs.Rows(shape, k0, keys).decode(checked()))
    t = tag_bits(len(items), n_s, security)
    tags = receive_list(channel, "rs21/list", n_s, t)
    return [i for i, value in enumerate(split(to_bytes(values))) if tag_of(value, t) in tags]


def sender(channel, draw, items, n_r, security=40):
    """S: learns nothing."""
    shape, bits = okvs.shape(n_r, False, security), entry_bits(len(items), security)
    ext = extension.Sender(channel, draw, False)
    b = vole.sender(ext, draw, shape.columns, bits)
    k0, k1, k2 = keys_of(channel.receive("rs21/seed", 16))
    keys = blocks(b"".join(items))
    b = b ^ gf128.times(receive_columns(channel, shape, bits), ext.delta)
    h = vole.low_bits(aes(k1, keys), bits)
    values = cr(k2, okvs.Rows(shape, k0, keys).decode(b) ^ gf128.times(h, ext.delta))
    send_list(channel, "rs21/list", split(to_bytes(values)), tag_bits(n_r, len(items), security))
    channel.flush()


class SeededDraws:
    """The free columns, from a seed."""

    def __init__(self, seed):
        self.seed = seed

    def blocks(self, count):
        return prg(self.seed, 0, count)


# rr22-malicious


class Items:
    """The keys of items in the store, and the hashes of their values."""

    def __init__(self, sid, gamma, k, items):
        k0, k1, k2 = keys_of(derive("vesica rs21 seed v1", sid + gamma + k)[:16])
        self.seed = k0
        self.high = [item[16:] for item in items]
        low, high = (blocks(b"".join(item[part] for item in items)) for part in (slice(16), slice(16, 32)))
        self.keys = low ^ cr(k1, high)
        self.kappa = split(to_bytes(self.keys))
        self.h = blocks(b"".join(self.rows(k2, [bytes(16)] * len(items))))

    def rows(self, k, us):
        """ROW(k, u, κ, high half) for each item."""
        key = derive("vesica row hash v1", k)
        return [keyed(key, u + y + z + bytes(16))[:16] for u, y, z in zip(us, self.kappa, self.high)]


def commitment(w_s):
    return derive("vesica rs21 commitment v1", w_s)


def malicious_receiver(channel, draw, items, n_s, security=40):
    shape = okvs.shape(len(items), True, security)
    gamma = channel.receive("rs21/commitment", 32)
    a, checked = vole.receiver(extension.Receiver(channel, draw, True), draw, shape.columns, 128)
    k, w_r = draw.block(), draw.block()
    channel.send("rs21/seed", k + w_r)
    own = Items(channel.sid, gamma, k, items)
    send_columns(channel, shape, a ^ okvs.encode(shape, own.seed, own.keys, own.h, SeededDraws(draw.block())), 128)
    # Nothing that is made of c leaves R before this.
    c = checked()
    w_s = channel.receive("rs21/opening", 16)
    if commitment(w_s) != gamma:
        raise Refused("opening of the sender's share of w")
    u = split(to_bytes(okvs.Rows(shape, own.seed, own.keys).decode(c)))
    tags = receive_list(channel, "rs21/list", n_s, 128)
    return [i for i, value in enumerate(own.rows(xor(w_s, w_r), u)) if tag_of(value, 128) in tags]


def malicious_sender(channel, draw, items, n_r, security=40):
    shape = okvs.shape(n_r, True, security)
    w_s = draw.block()
    gamma = commitment(w_s)
    channel.send("rs21/commitment", gamma)
    ext = extension.Sender(channel, draw, True)
    b = vole.sender(ext, draw, shape.columns, 128)
    data = channel.receive("rs21/seed", 32)
    own = Items(channel.sid, gamma, data[:16], items)
    b = b ^ gf128.times(receive_columns(channel, shape, 128), ext.delta)
    u = okvs.Rows(shape, own.seed, own.keys).decode(b) ^ gf128.times(own.h, ext.delta)
    channel.send("rs21/opening", w_s)
    send_list(channel, "rs21/list", own.rows(xor(w_s, data[16:]), split(to_bytes(u))), 128)
    channel.flush()
