"""The client of lists against the program: `vesica publish` and `vesica serve-list`. VESICA names the program."""

import contextlib
import csv
import re
import subprocess
import threading

import pytest
from wire import connection, keys, published
from wire.errors import Refused
from wire.list_client import Client, NoAnswer, WebSocket


class Publisher:
    """The program as the publisher of a list, and as its service."""

    def __init__(self, program, directory):
        self.program, self.directory = program, directory
        self.identity = directory / "publisher.pem"
        self.run("keygen", self.identity)
        self.fingerprint = connection.read_fingerprint(self.run("fingerprint", self.identity))

    def run(self, *arguments):
        ended = subprocess.run([self.program, *arguments], capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    def publish(self, rows, *flags):
        table = self.directory / "items.csv"
        with open(table, "w", newline="") as file:
            csv.writer(file).writerows([["mail", "reason"], *rows])
        self.run(
            "publish", "--input", table, "--list", self.directory / "list", "--identity", self.identity, "--key", "mail",
            "--normalize", "email", "--progress", "off", *flags,
        )  # fmt: skip

    def serve(self, *flags):
        command = [self.program, "serve-list", "--list", self.directory / "list", "--identity", self.identity]
        self.process = subprocess.Popen(
            [*command, "--listen", "127.0.0.1:0", *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for line in self.process.stdout:
            if found := re.search(r"127\.0\.0\.1:([1-9][0-9]*)", line):
                break
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        return "127.0.0.1", int(found[1])


def rows(numbers, reason="fraud"):
    return [(f"Item.{n}+x@GMail.com", reason) for n in numbers]


def digests(numbers):
    return [keys.digest([keys.column("email", f"item{n}@gmail.com")]) for n in numbers]


@pytest.fixture(scope="module", params=["plain", "labelled"])
def served(request, program, tmp_path_factory):
    publisher = Publisher(program, tmp_path_factory.mktemp("list"))
    flags = ["--labels", "reason", "--label-bytes", "20"] if request.param == "labelled" else []
    publisher.publish(rows(range(0, 6000, 2)), *flags)
    address = publisher.serve("--client-burst", "100", "--client-rate", "1")
    yield publisher, address, flags
    publisher.process.terminate()
    assert publisher.process.wait(30) == 0


def expected(flags, reasons):
    """Matches with their label, as the client gives them."""
    return [(reason is not None, reason if flags else None) for reason in reasons]


def told(client, found):
    columns = len(client.list.head["labels"]["columns"]) if client.list.head["labels"] else 0
    return [(is_in, published.label_values(label, columns)[0] if label else None) for is_in, label in found]


def some(numbers):
    """Keys, and None for what is no key, which is asked for as well."""
    return [None if n is None else digests([n])[0] for n in numbers]


def test_a_list_that_changes(served):
    """Asked over both ways, updated by a part, asked again, and limited."""
    publisher, address, flags = served
    client = Client(address, publisher.fingerprint)
    client.update(keys=[keys.versioned("email")])
    assert client.list.head["items"] == 3000
    wanted = [0, 1, 2, None, 5998, 5999, 6000]
    reasons = ["fraud", None, "fraud", None, "fraud", None, None]
    assert len(client.question(some(wanted)).bytes()) == 32 * len(wanted)
    assert told(client, client.look_up(some(wanted))) == expected(flags, reasons)
    assert told(client, client.look_up_by_socket(some(wanted), 3)) == expected(flags, reasons)

    changed = rows(range(4, 6000, 2)) + rows([2, 3], "error")
    publisher.publish(changed, *flags)
    for _ in range(100):
        client.update(keys=[keys.versioned("email")])
        if client.list.head["parts"][-1]["sequence"] == 1:
            break
        threading.Event().wait(0.1)
    assert len(client.list.parts) == 2
    reasons = [None, "error", "error", "fraud"]
    assert told(client, client.look_up(digests([0, 2, 3, 4]))) == expected(flags, reasons)

    # What is not answered, with its status and word.
    def refused(question, epoch=1):
        with pytest.raises(NoAnswer) as caught:
            client.evaluate(question, epoch)
        return caught.value.status, caught.value.error

    one = client.question(digests([1])).bytes()
    assert refused(one[:31]) == (400, "malformed")
    assert refused(b"") == (400, "malformed")
    assert refused(bytes(32)) == (400, "malformed")
    # What is refused is not received first, so the answer may be lost with the connection.
    with contextlib.suppress(OSError):
        assert refused(bytes(2**17 + 32)) == (413, "too-many")
    assert refused(one, epoch=2) == (409, "epoch")
    with pytest.raises(NoAnswer, match="epoch"):
        WebSocket(address, publisher.fingerprint).ask(7, one)
    assert refused(client.question(digests(range(90))).bytes()) == (429, "limit")


def test_strangers_are_refused(served):
    publisher, address, _ = served
    with pytest.raises(Refused, match="certificate"):
        Client(address, bytes(20)).update()
    client = Client(address, publisher.fingerprint)
    with pytest.raises(Refused, match="keys"):
        client.update(keys=[keys.versioned("none")])
    with pytest.raises(Refused, match="expired"):
        client.update(now=2**40)
    with pytest.raises(Refused, match="null values"):
        client.update(null_values=[])
    client.update()
    question = client.question(digests([0]))
    answer = bytearray(client.evaluate(question.bytes(), 1))
    answer[3] ^= 1
    with pytest.raises(Refused, match="proof|reduced"):
        question.finish(bytes(answer))
