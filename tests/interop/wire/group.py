"""primitives.md, section 5: ristretto255 (RFC 9496), in plain Python. Not constant-time, so only for tests.

A point is a tuple (X, Y, Z, T) of extended coordinates on the twisted Edwards curve.
"""

from .errors import Refused
from .primitives import derive

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493

D = -121665 * pow(121666, -1, P) % P
TWICE_D = 2 * D % P
SQRT_M1 = pow(2, (P - 1) // 4, P)
ONE_MINUS_D_SQ = (1 - D * D) % P
D_MINUS_ONE_SQ = (D - 1) ** 2 % P

IDENTITY = (0, 1, 1, 0)


def is_negative(x):
    return x % P & 1


def absolute(x):
    x %= P
    return P - x if x & 1 else x


def sqrt_ratio(u, v):
    """RFC 9496, section 4.2: (whether u/v is a square, its non-negative root or that of i·u/v)."""
    v3 = v * v % P * v % P
    r = u * v3 % P * pow(u * v3 % P * v3 % P * v % P, (P - 5) // 8, P) % P
    check = v * r % P * r % P
    correct = (check - u) % P == 0
    flipped = (check + u) % P == 0
    flipped_i = (check + u * SQRT_M1) % P == 0
    if flipped or flipped_i:
        r = r * SQRT_M1 % P
    return correct or flipped, absolute(r)


# RFC 9496 takes the odd root here.
SQRT_AD_MINUS_ONE = 25063068953384623474111414158702152701244531502492656460079210482610430750235
INVSQRT_A_MINUS_D = sqrt_ratio(1, (-1 - D) % P)[1]
assert SQRT_AD_MINUS_ONE**2 % P == (-D - 1) % P


def decode(data):
    """The element of 32 bytes. Refuses what is not canonical, and the identity."""
    s = int.from_bytes(data, "little")
    if len(data) != 32 or s >= P or s & 1:
        raise Refused("a group element is not canonical")
    ss = s * s % P
    u1, u2 = 1 - ss, 1 + ss
    u2_sqr = u2 * u2 % P
    v = (-D * u1 % P * u1 - u2_sqr) % P
    was_square, inverse_root = sqrt_ratio(1, v * u2_sqr % P)
    den_x = inverse_root * u2 % P
    den_y = inverse_root * den_x % P * v % P
    x = absolute(2 * s * den_x)
    y = u1 * den_y % P
    t = x * y % P
    if not was_square or t & 1 or y == 0:
        raise Refused("a group element is not canonical")
    if s == 0:
        raise Refused("a group element is the identity")
    return x, y, 1, t


def encode(point):
    x0, y0, z0, t0 = point
    u1 = (z0 + y0) * (z0 - y0) % P
    u2 = x0 * y0 % P
    _, inverse_root = sqrt_ratio(1, u1 * u2 % P * u2 % P)
    den1, den2 = inverse_root * u1 % P, inverse_root * u2 % P
    z_inverse = den1 * den2 % P * t0 % P
    if is_negative(t0 * z_inverse):
        x, y = y0 * SQRT_M1 % P, x0 * SQRT_M1 % P
        den_inverse = den1 * INVSQRT_A_MINUS_D % P
    else:
        x, y, den_inverse = x0, y0, den2
    if is_negative(x * z_inverse):
        y = -y
    return absolute(den_inverse * (z0 - y)).to_bytes(32, "little")


def map_to_point(t):
    r = SQRT_M1 * t % P * t % P
    u = (r + 1) * ONE_MINUS_D_SQ % P
    v = (-1 - r * D) * (r + D) % P
    was_square, s = sqrt_ratio(u, v)
    c = -1
    if not was_square:
        s = -absolute(s * t)
        c = r
    n = (c * (r - 1) % P * D_MINUS_ONE_SQ - v) % P
    w0, w1 = 2 * s * v % P, n * SQRT_AD_MINUS_ONE % P
    w2, w3 = (1 - s * s) % P, (1 + s * s) % P
    return w0 * w3 % P, w2 * w1 % P, w1 * w3 % P, w0 * w2 % P


def from_uniform(data):
    """The element derivation from 64 uniform bytes."""
    mask = 2**255 - 1
    first = int.from_bytes(data[:32], "little") & mask
    second = int.from_bytes(data[32:], "little") & mask
    return add(map_to_point(first % P), map_to_point(second % P))


def hash_to_group(context, message):
    return from_uniform(derive(context, message, 64))


def add(p, q):
    x1, y1, z1, t1 = p
    x2, y2, z2, t2 = q
    a = (y1 - x1) * (y2 - x2) % P
    b = (y1 + x1) * (y2 + x2) % P
    c = t1 * TWICE_D % P * t2 % P
    d = 2 * z1 * z2 % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def negate(p):
    x, y, z, t = p
    return P - x, y, z, P - t


def subtract(p, q):
    return add(p, negate(q))


def double(p):
    x, y, z, _ = p
    a, b = x * x % P, y * y % P
    h = a + b
    e = h - (x + y) * (x + y)
    g = a - b
    f = 2 * z * z + g
    e, f = e % P, f % P
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(scalar, p):
    """Windows of four bits."""
    table = [IDENTITY, p]
    for _ in range(14):
        table.append(add(table[-1], p))
    result = IDENTITY
    for digit in scalar.to_bytes(32, "big").hex():
        x, y, z, _ = result
        # Four doublings. Only the last needs T.
        for _ in range(3):
            a, b = x * x % P, y * y % P
            h = a + b
            g = a - b
            e = (h - (x + y) * (x + y)) % P
            f = (2 * z * z + g) % P
            x, y, z = e * f % P, g * h % P, f * g % P
        result = double((x, y, z, 0))
        if digit != "0":
            result = add(result, table[int(digit, 16)])
    return result


class Multiples:
    """Multiples of one point, with a table that makes many of them cheap."""

    def __init__(self, p):
        self.rows = []
        for _ in range(64):
            row = [IDENTITY]
            for _ in range(15):
                row.append(add(row[-1], p))
            self.rows.append(row)
            p = add(row[-1], p)

    def times(self, scalar):
        result = IDENTITY
        for row in self.rows:
            digit = scalar & 15
            scalar >>= 4
            if digit:
                result = add(result, row[digit])
        return result


GENERATOR = decode(bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76"))
OF_GENERATOR = Multiples(GENERATOR)
