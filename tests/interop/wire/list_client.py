"""published-lists.md, section 9: a client of a list, over HTTP and over a WebSocket.

It keeps the list in memory, and what it accepted before for the next time.
"""

import hashlib
import http.client
import json
import os
import socket
import ssl
import time

from .draws import SystemDraws
from .errors import Refused
from .keys import DEFAULT_NULLS as NULL_VALUES
from .published import List, Question, accept_head, check_log, file_bytes, has_to_read_log, item_of


class NoAnswer(Exception):
    """The publisher said why it does not answer."""

    def __init__(self, status, error, message):
        super().__init__(f"{error}: {message}")
        self.status, self.error, self.message = status, error, message


def _connected(address, fingerprint):
    """TLS with the server that has the publisher's own certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    stream = context.wrap_socket(socket.create_connection(address, timeout=30))
    certificate = stream.getpeercert(binary_form=True)
    if hashlib.sha256(certificate).digest()[:20] != fingerprint:
        stream.close()
        raise Refused("another certificate")
    return stream


class Client:
    """Of a list at an address such as ("127.0.0.1", 7790), below /v1."""

    def __init__(self, address, fingerprint):
        self.address, self.fingerprint = address, fingerprint
        self.list = None
        self.draws = SystemDraws()

    def request(self, method, path, body=None, headers=()):
        """The status, the fields and the body of an answer."""
        connection = http.client.HTTPConnection(*self.address)
        connection.sock = _connected(self.address, self.fingerprint)
        connection.request(method, f"/v1/{path}", body, dict(headers))
        response = connection.getresponse()
        found = response.status, dict(response.getheaders()), response.read()
        connection.close()
        return found

    def file(self, name, first=0):
        headers = [("Range", f"bytes={first}-")] if first else []
        status, _, body = self.request("GET", name, headers=headers)
        if status != (206 if first else 200):
            raise NoAnswer(status, "status", name)
        return body

    def update(self, keys=None, now=None, null_values=NULL_VALUES):
        """Fetches what changed."""
        known = self.list and self.list.head
        now = int(time.time()) if now is None else now
        head = accept_head(self.file("head.json").decode(), self.fingerprint, now, keys, None, known, null_values)
        if has_to_read_log(head, known):
            end = known and (known["log"]["entries"], known["log"]["digest"])
            check_log(self.file("log.txt").decode(), head, end)
        old = {part["digest"]: file for part, file in zip(known["parts"], self.files)} if known else {}
        self.files = [old.get(part["digest"]) or self.part(part) for part in head["parts"]]
        self.list = List(head, self.files)

    def part(self, entry):
        """In two pieces, as after an interruption."""
        name, half = f"{entry['digest'].hex()}.part", file_bytes(entry) // 2
        first = self.file(name)[:half]
        return first + self.file(name, half)

    def question(self, digests):
        public_key = self.list.head["public_key"]
        # A missing key is asked for like any other.
        items = [item_of(digest, public_key) if digest else os.urandom(32) for digest in digests]
        blinds = [max(1, self.draws.scalar()) for _ in items]
        return Question(items, blinds, public_key)

    def evaluate(self, question, epoch):
        status, _, body = self.request("POST", f"evaluate?epoch={epoch}", question)
        if status != 200:
            said = json.loads(body)
            raise NoAnswer(status, said["error"], said["message"])
        return body

    def look_up(self, digests):
        """For each key whether it is in the list, and its label."""
        question = self.question(digests)
        values = question.finish(self.evaluate(question.bytes(), self.list.head["epoch"]))
        return [self.list.look_up(value) for value in values]

    def look_up_by_socket(self, digests, batch):
        """The same over one WebSocket, in questions of so many keys."""
        web_socket, values = WebSocket(self.address, self.fingerprint), []
        for at in range(0, len(digests), batch):
            question = self.question(digests[at : at + batch])
            values += question.finish(web_socket.ask(self.list.head["epoch"], question.bytes()))
        web_socket.close()
        # All is asked before anything is looked up.
        return [self.list.look_up(value) for value in values]


class WebSocket:
    """RFC 6455, as much of it as a client needs that asks one question after another."""

    def __init__(self, address, fingerprint):
        self.stream = _connected(address, fingerprint)
        request = (
            f"GET /v1/socket HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        self.stream.sendall(request.encode())
        self.reader = self.stream.makefile("rb")
        if b" 101 " not in self.reader.readline():
            raise Refused("no WebSocket")
        fields = dict(line.split(": ", 1) for line in iter(lambda: self.reader.readline().decode().strip(), ""))
        # The key of the sample in RFC 6455, section 1.3.
        if {name.lower(): value for name, value in fields.items()}["sec-websocket-accept"] != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=":
            raise Refused("no WebSocket")

    def send(self, message, opcode=2):
        length, mask = len(message), os.urandom(4)
        if length < 126:
            front = bytes([0x80 | length])
        elif length < 2**16:
            front = b"\xfe" + length.to_bytes(2, "big")
        else:
            front = b"\xff" + length.to_bytes(8, "big")
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(message))
        self.stream.sendall(bytes([0x80 | opcode]) + front + mask + masked)

    def receive(self):
        """The next message, which must be binary; pings are left to their sender."""
        message = b""
        while True:
            first, length = self.reader.read(2)
            if length in (126, 127):
                length = int.from_bytes(self.reader.read(2 if length == 126 else 8), "big")
            if length > 2**20:
                raise Refused("a message is too long")
            payload = self.reader.read(length)
            if first & 15 in (0, 2):
                message += payload
                if first & 0x80:
                    return message
            elif first & 15 == 8:
                raise Refused("the WebSocket was closed")

    def ask(self, epoch, question):
        self.send(epoch.to_bytes(8, "little") + question)
        reply = self.receive()
        if reply[0] == 1:
            said = json.loads(reply[1:])
            raise NoAnswer(None, said["error"], said["message"])
        return reply[1:]

    def close(self):
        self.send(b"", 8)
        self.stream.close()


