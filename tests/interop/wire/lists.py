"""lists.md: tags, and the coding of sorted lists of them."""

from math import ceil, log2

import numpy as np

from .errors import Refused
from .primitives import keyed, le64, numbers, unpack


def pow2(n):
    """The least power of two that is at least n."""
    return 1 << max(0, (n - 1).bit_length()) if n > 0 else 1


def tag_bits(n_r, n_s, security=40):
    return ceil(security + log2(max(1, n_r)) + log2(max(1, n_s)))


def rice_parameter(n, t):
    c = min(127, max(0, t - (pow2(max(1, n)).bit_length() - 1)))
    d = max(0, c - 1)

    def size(x):
        return n * (x + 1) + 2 ** (t - x)

    return d if size(d) < size(c) else c


def list_length(n, t):
    r = rice_parameter(n, t)
    return 8 * (-(-(n + 2 ** (t - r)) // 64) + -(-n * r // 64))


def encode_list(tags, t):
    """The list of tags, numbers of t bits in any order."""
    n = len(tags)
    r = rice_parameter(n, t)
    tags = sorted(tags)
    unary_words = -(-(n + 2 ** (t - r)) // 64)
    low_words = -(-n * r // 64)
    unary_bits = np.zeros(unary_words * 64, dtype=np.uint8)
    for i, tag in enumerate(tags):
        unary_bits[(tag >> r) + i] = 1
    unary = np.packbits(unary_bits, bitorder="little").tobytes()
    low_bits = "".join(format(tag & ((1 << r) - 1), f"0{r}b")[::-1] for tag in tags) if r else ""
    low = int(low_bits[::-1] or "0", 2).to_bytes(low_words * 8, "little")
    return unary + low


def decode_list(data, n, t):
    """The tags, in ascending order. Refuses what lists.md, section 3, says."""
    if len(data) != list_length(n, t):
        raise Refused("wrong length of a tag list")
    r = rice_parameter(n, t)
    unary_bits = n + 2 ** (t - r)
    cut = -(-unary_bits // 64) * 8
    unary = np.unpackbits(np.frombuffer(data[:cut], dtype=np.uint8), bitorder="little")
    low = np.unpackbits(np.frombuffer(data[cut:], dtype=np.uint8), bitorder="little")
    if unary[unary_bits:].any() or low[n * r :].any():
        raise Refused("padding of a tag list is not zero")
    places = np.flatnonzero(unary)
    if len(places) != n:
        raise Refused("wrong number of tags in a list")
    lows = numbers(unpack(data[cut:], n, r)) if r else [0] * n
    tags = [(int(place) - i) << r | low for i, (place, low) in enumerate(zip(places, lows))]
    if any(a > b for a, b in zip(tags, tags[1:])) or any(tag >> t for tag in tags):
        raise Refused("tags of a list are not in order")
    return tags


def tag_of(value, t):
    """The t most significant bits of a block (bytes)."""
    return int.from_bytes(value, "little") >> (128 - t)


def send_list(channel, label, values, t):
    channel.send(label, encode_list([tag_of(v, t) for v in values], t))


def receive_list(channel, label, n, t):
    return set(decode_list(channel.receive(label, list_length(n, t)), n, t))


def reveal_tag(key, item, t):
    return tag_of(keyed(key, item)[:16], t)


def reveal(channel, draw, shared, n_r, n_s, security=40):
    """R tells S the items that are shared."""
    t = tag_bits(n_r, n_s, security)
    key = draw.bytes(32)
    channel.send("reveal/key", key)
    channel.send("reveal/count", le64(len(shared)))
    channel.send("reveal/list", encode_list([reveal_tag(key, item, t) for item in shared], t))
    channel.flush()


def learn(channel, items, n_r, security=40):
    """S learns which of its items are shared: their places."""
    t = tag_bits(n_r, len(items), security)
    key = channel.receive("reveal/key", 32)
    m = int.from_bytes(channel.receive("reveal/count", 8), "little")
    if m > min(n_r, len(items)):
        raise Refused("more shared items than there are")
    tags = receive_list(channel, "reveal/list", m, t)
    found = [i for i, item in enumerate(items) if reveal_tag(key, item, t) in tags]
    if len(found) != m:
        raise Refused("the list of shared items does not fit")
    return found
