"""ot.md, section 2: trees of which the chooser lacks a leaf each. Leaves are arrays of the shape (T, L, 2)."""

import numpy as np

from .errors import Refused
from .primitives import blocks, ccr, cr, derive, le64, to_bytes, xor_sum


def depth(leaves):
    return (leaves - 1).bit_length()


def widths(leaves):
    d = depth(leaves)
    return [-(-leaves // (1 << (d - level))) for level in range(d + 1)]


def choices(points, leaves):
    """The choices for the OTs of trees with the given missing leaves: number g·D + l − 1."""
    d = depth(leaves)
    bits = [1 - (points >> (d - level) & 1) for level in range(1, d + 1)]
    return np.stack(bits, axis=1).reshape(-1)


def children(generator, nodes, width):
    """The next level, of `width` nodes."""
    t, w, _ = nodes.shape
    result = np.empty((t, w, 2, 2), dtype=np.uint64)
    result[:, :, 0] = cr(generator[:16], nodes)
    result[:, :, 1] = cr(generator[16:], nodes)
    return result.reshape(t, 2 * w, 2)[:, :width]


def give(channel, draw, keys, leaves):
    """`keys` has the shape (T, D, 2, 2): K_{g,l,j}."""
    generator = draw.bytes(32)
    nodes = keys[:, 0]
    sums = []
    for level, width in enumerate(widths(leaves)[2:], 1):
        nodes = children(generator, nodes, width)
        both = np.stack([xor_sum(nodes[:, side::2], axis=1) for side in (0, 1)], axis=1)
        sums.append(both ^ keys[:, level])
    channel.send("pprf/generator", generator)
    channel.send("pprf/sums", to_bytes(np.stack(sums, axis=1)) if sums else b"")
    return nodes


def choose(channel, keys, points, leaves):
    """`keys` has the shape (T, D, 2): the chosen ones. The missing leaves are zero."""
    trees, d = keys.shape[:2]
    every = np.arange(trees)
    generator = channel.receive("pprf/generator", 32)
    sums = blocks(channel.receive("pprf/sums", 32 * trees * (d - 1))).reshape(trees, d - 1, 2, 2)
    nodes = np.zeros((trees, 2, 2), dtype=np.uint64)
    nodes[every, 1 - (points >> (d - 1) & 1)] = keys[:, 0]
    for level, width in enumerate(widths(leaves)[2:], 1):
        nodes = children(generator, nodes, width).copy()
        path = points >> (d - 1 - level)
        parent = path >> 1
        for side in (0, 1):
            # Both children of the node on the path are unknown; the last one may have no right child.
            known = 2 * parent + side < width
            nodes[every[known], (2 * parent + side)[known]] = 0
        other = 1 - (path & 1)
        both = np.stack([xor_sum(nodes[:, side::2], axis=1) for side in (0, 1)], axis=1)
        sibling = sums[every, level - 1, other] ^ keys[:, level] ^ both[every, other]
        place = 2 * parent + other
        known = place < width
        nodes[every[known], place[known]] = sibling[known]
    return nodes


# The check of a call


def tags_and_leaves(sid, leaves, missing=None):
    """The tag of each leaf, and what replaces it; zeros for those that are missing."""
    trees, count, _ = leaves.shape
    tags = np.zeros((trees, count, 4), dtype=np.uint64)
    new = np.zeros_like(leaves)
    for g in range(trees):
        data = to_bytes(leaves[g])
        for x in range(count):
            if missing is not None and missing[g] == x:
                continue
            e = derive("vesica pprf leaf v1", sid + le64(g * count + x) + data[16 * x : 16 * x + 16], 48)
            tags[g, x] = np.frombuffer(e[:32], dtype="<u8")
            new[g, x] = np.frombuffer(e[32:], dtype="<u8")
    return tags, new


def prove(channel, leaves):
    tags, new = tags_and_leaves(channel.sid, leaves)
    channel.send("pprf/tag-sums", to_bytes(xor_sum(tags, axis=1)))
    channel.send("pprf/tag-digest", derive("vesica pprf tags v1", to_bytes(tags)))
    return new


def check(channel, leaves, points):
    trees = len(points)
    sums = np.frombuffer(channel.receive("pprf/tag-sums", 32 * trees), dtype="<u8").reshape(trees, 4)
    digest = channel.receive("pprf/tag-digest", 32)
    tags, new = tags_and_leaves(channel.sid, leaves, points)
    tags[np.arange(trees), points] = sums ^ xor_sum(tags, axis=1)
    if derive("vesica pprf tags v1", to_bytes(tags)) != digest:
        raise Refused("leaves of the punctured PRF")
    return new


# Half-trees


def halves(key, nodes):
    """Both children of every node, and the spare of a level of `width` nodes is the last of them if `width` is odd."""
    left = ccr(key, nodes)
    return np.stack([left, nodes ^ left], axis=2).reshape(nodes.shape[0], -1, 2)


def give_halves(keys, first, delta, leaves):
    """Both keys π and the left nodes of level 1; what step 4 sends without masks, (T, D, 2), and the leaves."""
    nodes = np.stack([first, first ^ delta], axis=1)
    sums = [first]
    for width in widths(leaves)[2:]:
        nodes = halves(keys[:16], nodes)[:, :width]
        sums.append(xor_sum(nodes[:, 0::2], axis=1))
    return np.stack(sums, axis=1), ccr(keys[16:], nodes)


def choose_halves(channel, t, points, leaves):
    """`t` has the shape (T, D, 2): those of the correlated OTs. The missing leaves are zero."""
    trees, d = t.shape[:2]
    every = np.arange(trees)
    keys = channel.receive("half-tree/keys", 32)
    sums = blocks(channel.receive("half-tree/sums", 16 * trees * d)).reshape(trees, d, 2) ^ t
    nodes = np.zeros((trees, 2, 2), dtype=np.uint64)
    nodes[every, 1 - (points >> (d - 1) & 1)] = sums[:, 0]
    spares = np.zeros((trees, 2), dtype=np.uint64)
    for level, width in enumerate(widths(leaves)[2:], 1):
        nodes = halves(keys[:16], nodes)
        path = points >> (d - 1 - level)
        other = path ^ 1
        nodes[every, path] = 0
        nodes[every, other] = 0
        of_side = np.stack([xor_sum(nodes[:, 0::2], axis=1), xor_sum(nodes[:, 1::2], axis=1) ^ spares], axis=1)
        nodes[every, other] = sums[:, level] ^ of_side[every, other & 1]
        if width % 2:
            spares = spares ^ nodes[:, width]
        nodes = nodes[:, :width]
    result = ccr(keys[16:], nodes)
    result[every, points] = 0
    return result
