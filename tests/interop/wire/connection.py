"""connection.md: identities, fingerprints, TLS 1.3, greetings.

The TLS is that of pyOpenSSL, because Python's own module has no exporter.
"""

import datetime
import hashlib
import select
import socket
import time

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from OpenSSL import SSL, crypto

from .channel import Channel
from .errors import Closed, Refused

PREFIX = "vesica1-"
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
WELCOME, IN_A_RUN = b"\x06", b"\x15"
STALL = 120


# Fingerprints


def fingerprint(certificate):
    """The fingerprint of a certificate (DER), 20 bytes."""
    return hashlib.sha256(certificate).digest()[:20]


def _characters(f):
    checksum = hashlib.sha256(PREFIX.encode() + f).digest()
    bits = (int.from_bytes(f, "big") << 20) | int.from_bytes(checksum, "big") >> 236
    return "".join(ALPHABET[bits >> (5 * i) & 31] for i in range(35, -1, -1))


def fingerprint_text(f):
    characters = _characters(f)
    return PREFIX + "-".join(characters[i : i + 4] for i in range(0, 36, 4))


def read_fingerprint(text):
    text = text.strip().lower()
    if not text.startswith(PREFIX):
        raise Refused("prefix")
    characters = text[len(PREFIX) :].replace("-", "").replace("o", "0").replace("i", "1").replace("l", "1")
    if len(characters) != 36:
        raise Refused("length")
    if any(c not in ALPHABET for c in characters):
        raise Refused("character")
    bits = 0
    for c in characters:
        bits = bits << 5 | ALPHABET.index(c)
    f = (bits >> 20).to_bytes(20, "big")
    if _characters(f) != characters:
        raise Refused("checksum")
    return f


class Identity:
    """A key pair and its certificate."""

    def __init__(self):
        self.key = Ed25519PrivateKey.generate()
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "somebody")])
        self.certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(datetime.datetime(2020, 1, 1))
            .not_valid_after(datetime.datetime(2099, 1, 1))
            .sign(self.key, None)
        )

    @property
    def fingerprint(self):
        return fingerprint(self.certificate.public_bytes(serialization.Encoding.DER))

    @property
    def text(self):
        return fingerprint_text(self.fingerprint)


# TLS


def _context(identity, peer):
    context = SSL.Context(SSL.TLS_METHOD)
    context.set_min_proto_version(SSL.TLS1_3_VERSION)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_options(SSL.OP_NO_TICKET)
    context.use_certificate(identity.certificate)
    context.use_privatekey(identity.key)

    def is_expected(_connection, certificate, _error, depth, _ok):
        return depth == 0 and fingerprint(crypto.dump_certificate(crypto.FILETYPE_ASN1, certificate)) == peer

    context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, is_expected)
    return context


class TlsStream:
    """A TLS connection over a socket. Goes on reading while it cannot write."""

    def __init__(self, sock, context, is_client):
        self.sock = sock
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.tls = SSL.Connection(context, None)
        if is_client:
            self.tls.set_connect_state()
        else:
            self.tls.set_accept_state()
        self._until_done(self.tls.do_handshake)

    def _until_done(self, action):
        while True:
            try:
                result = action()
                self.flush()
                return result
            except SSL.WantReadError:
                self.flush()
                self._take(STALL)
            except SSL.ZeroReturnError:
                raise Closed("the other side closed") from None
            except SSL.Error:
                # An alert may be waiting to be sent.
                self.flush()
                raise

    def _take(self, timeout):
        """Waits for bytes of the network, and hands them to TLS."""
        if not select.select([self.sock], [], [], timeout)[0]:
            raise Closed("nothing came from the other side")
        try:
            data = self.sock.recv(1 << 16)
        except BlockingIOError:
            return
        if not data:
            raise Closed("the connection is lost")
        self.tls.bio_write(data)

    def flush(self):
        while True:
            try:
                data = self.tls.bio_read(1 << 16)
            except SSL.WantReadError:
                return
            while data:
                readable, writable, _ = select.select([self.sock], [self.sock], [], STALL)
                if writable:
                    data = data[self.sock.send(data) :]
                elif readable:
                    self._take(0)
                else:
                    raise Closed("the other side takes nothing")

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[self.tls.send(view[: 1 << 14]) :]
        if len(data) > 1 << 14:
            self.flush()

    def read(self, count):
        parts = []
        while count > 0:
            part = self._until_done(lambda most=min(count, 1 << 16): self.tls.recv(most))
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def exporter(self):
        return self.tls.export_keying_material(b"EXPORTER-vesica-session", 32)

    def close(self):
        try:
            self.tls.shutdown()
            self.flush()
        except (SSL.Error, Closed, OSError):
            pass
        self.sock.close()


def _channel(stream):
    channel = Channel(stream)
    channel.session.bind("tls exporter", stream.exporter())
    return channel


def connect(address, identity, peer, wait=30):
    """A: a channel to B at the address."""
    deadline = time.monotonic() + wait
    while True:
        try:
            stream = TlsStream(socket.create_connection(address), _context(identity, peer), True)
            stream.write(WELCOME)
            stream.flush()
            greeting = stream.read(1)
            if greeting == WELCOME:
                return _channel(stream)
            stream.close()
            if greeting != IN_A_RUN:
                raise Refused("an unknown greeting")
        except (OSError, Closed):
            # Nobody is there yet.
            pass
        except SSL.Error as error:
            # An alert before the greetings is fatal, unless B has no free place at the moment.
            if "internal error" not in str(error):
                raise
        if time.monotonic() > deadline:
            raise Closed("the other side has not appeared")
        time.sleep(0.1)


def listen(listener, identity, peer):
    """B: a channel to A, which connects to the listening socket."""
    while True:
        sock, _ = listener.accept()
        try:
            stream = TlsStream(sock, _context(identity, peer), False)
            if stream.read(1) != WELCOME:
                raise Refused("an unknown greeting")
        except (SSL.Error, Closed):
            # Somebody else: go on listening.
            sock.close()
            continue
        stream.write(WELCOME)
        stream.flush()
        return _channel(stream)
