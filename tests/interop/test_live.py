"""This implementation against the program, over TLS on loopback. VESICA names the program."""

import csv
import socket
import subprocess
import threading

import pytest
from OpenSSL import SSL
from wire import connection, party
from wire.errors import Aborted, Closed
from wire.run import VERSION

OTHER = {"me": "peer", "peer": "me", "both": "both"}


def tables(ours, theirs, shared, profile):
    """Values of both sides. With `email`, the shared ones are written differently."""
    if profile == "none":
        common = [(f"Key {i} é",) * 2 for i in range(shared)]
    else:
        common = [(f"Shared.{i}+news@GMail.com", f" shared{i}@gmail.com") for i in range(shared)]
    own = [ours for ours, _ in common] + [f"own{i}@example.com" for i in range(ours - shared)]
    other = [f"other{i}@example.org" for i in range(theirs - shared)] + [theirs for _, theirs in common]
    return own, other, {"own": [a for a, _ in common], "other": [b for _, b in common]}


class Program:
    """The program as the other party."""

    def __init__(self, program, directory, peer):
        self.program, self.directory, self.peer = program, directory, peer
        self.identity = directory / "identity"
        subprocess.run([program, "keygen", self.identity], check=True, capture_output=True)
        printed = subprocess.run([program, "fingerprint", self.identity], check=True, capture_output=True, text=True)
        self.fingerprint = printed.stdout.strip()
        self.output = directory / "output.csv"

    def start(self, values, *flags):
        table = self.directory / "input.csv"
        with open(table, "w", newline="") as file:
            csv.writer(file).writerows([["key"], *([value] for value in values)])
        command = [self.program, "run", "--identity", self.identity, "--peer", self.peer, "--input", table, "--key", "key"]
        command += ["--allow-empty", "--progress", "off", *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        # The pipe is emptied while the program runs.
        self.printed = []
        self.reader = threading.Thread(target=lambda: self.printed.extend(self.process.stdout))
        self.reader.start()

    def end(self):
        code = self.process.wait(timeout=60)
        self.reader.join()
        return code, "".join(self.printed)

    def matched(self):
        with open(self.output, newline="") as file:
            return sorted(row[0] for row in list(csv.reader(file))[1:])


def meet(program, tmp_path, protocol, we_connect, learns, ours, theirs, profile, shared=None):
    """A run; both results must be the plain intersection."""
    shared = min(ours, theirs) * 2 // 3 if shared is None else shared
    own, other, common = tables(ours, theirs, shared, profile)
    identity = connection.Identity()
    peer = Program(program, tmp_path, identity.text)
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    flags = ["--wait", "60", "--normalize", profile, "--protocol", protocol or "auto", "--learns", OTHER[learns]]
    if learns != "me":
        flags += ["--output", peer.output]
    if we_connect:
        listener.close()
    peer.start(other, *flags, "--listen" if we_connect else "--connect", "%s:%s" % address)
    place = {"address": address} if we_connect else {"listener": listener}
    try:
        found = party.take_part(identity, peer.fingerprint, own, profile, protocol, learns, **place)
        code, printed = peer.end()
        assert code == 0, printed
    finally:
        peer.process.kill()
        listener.close()
    assert (found is None) == (learns == "peer")
    if learns != "peer":
        assert sorted(found) == sorted(common["own"])
    if learns != "me":
        assert peer.matched() == sorted(common["other"])


PROTOCOLS = ["dh", "rr22", "rr22-malicious"]


@pytest.mark.parametrize("learns", ["me", "peer", "both"])
@pytest.mark.parametrize("we_connect", [True, False], ids=["connecting", "listening"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_roles(program, tmp_path, protocol, we_connect, learns):
    profile = "email" if we_connect else "none"
    meet(program, tmp_path, protocol, we_connect, learns, 257, 100, profile)


# A is the receiver where both learn: the first of each pair of lines has this implementation as the receiver.
@pytest.mark.parametrize("we_connect", [True, False], ids=["connecting", "listening"])
@pytest.mark.parametrize("ours, theirs", [(0, 0), (0, 257), (257, 0), (1, 0), (1, 1), (1, 257), (257, 1), (257, 257)])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_sizes(program, tmp_path, protocol, ours, theirs, we_connect):
    meet(program, tmp_path, protocol, we_connect, "both", ours, theirs, "none" if we_connect else "email")


@pytest.mark.parametrize("we_connect", [True, False], ids=["connecting", "listening"])
@pytest.mark.parametrize("ours, theirs", [(10_000, 10_000), (257, 10_000), (10_000, 257)])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_large_sizes(program, tmp_path, protocol, ours, theirs, we_connect):
    meet(program, tmp_path, protocol, we_connect, "both", ours, theirs, "email" if we_connect else "none")


@pytest.mark.parametrize("protocol", ["rr22", "rr22-malicious"])
@pytest.mark.parametrize("we_connect", [True, False], ids=["connecting", "listening"])
def test_several_clusters(program, tmp_path, protocol, we_connect):
    meet(program, tmp_path, protocol, we_connect, "both", 70_000, 70_000, "none")


@pytest.mark.parametrize("we_connect", [True, False], ids=["connecting", "listening"])
def test_choice(program, tmp_path, we_connect):
    """Neither side names a protocol: A measures the round trip and chooses."""
    meet(program, tmp_path, None, we_connect, "both", 300, 300, "none")


@pytest.mark.parametrize(
    "payload, code, exit_code",
    [(b"terms", 4, 6), (b"{}", 4, 6), (b'{"version":7}', 2, 5), (b'{"version":%d}' % VERSION, 4, 6)],
)
def test_terms_that_the_program_refuses(program, tmp_path, payload, code, exit_code):
    identity = connection.Identity()
    peer = Program(program, tmp_path, identity.text)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        peer.start(["a"], "--protocol", "dh", "--learns", "peer", "--connect", "%s:%s" % listener.getsockname())
        channel = connection.listen(listener, identity, connection.read_fingerprint(peer.fingerprint))
    channel.send("vesica/terms", payload)
    with pytest.raises(Aborted) as caught:
        channel.receive_at_most("vesica/terms", 4096)
        channel.receive("vesica/ready", 8)
    channel.stream.close()
    assert caught.value.code == code
    assert peer.end()[0] == exit_code


def test_somebody_else(program, tmp_path):
    """The program does not talk to another certificate than the expected one, and says so by the alert access_denied."""
    identity = connection.Identity()
    peer = Program(program, tmp_path, connection.Identity().text)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        peer.start(["a"], "--learns", "peer", "--connect", "%s:%s" % listener.getsockname(), "--wait", "5")
        sock, _ = listener.accept()
        context = connection._context(identity, connection.read_fingerprint(peer.fingerprint))
        with pytest.raises((SSL.Error, Closed), match="access denied"):
            connection.TlsStream(sock, context, False).read(1)
        sock.close()
    assert peer.end()[0] == 4
