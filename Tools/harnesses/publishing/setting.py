"""A data set with releases, the folder of each, and customers with a copy of each."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import harness

DOCUMENTS = [
    {"id": 1, "collection": "cities", "title": "Europe", "text": "A continent.", "key": "europe"},
    {"id": 2, "collection": "cities", "title": "Rome", "text": "One tram.", "key": "rome", "parent": 1,
     "attributes": {"lines": 1}},
    {"id": 3, "collection": "cities", "title": "Oslo", "text": "Six trams.", "key": "oslo", "parent": 1},
    {"id": 4, "collection": "cities", "title": "Paris", "text": "Nine trams.", "key": "paris"},
    {"id": 5, "collection": "sources", "title": "Report", "text": "x" * 60_000},
]
READER = harness.TOOLS / "read_release.py"


class Failed(Exception):
    pass


@dataclass
class Answer:
    code: int
    output: bytes
    errors: str


def run(command, folder):
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, cwd=folder, stdin=subprocess.DEVNULL, timeout=120,
        env={name: value for name, value in os.environ.items() if not name.startswith("DBTOOL_")})
    return Answer(done.returncode, done.stdout, done.stderr.decode(errors="replace").strip())


class Workshop:
    """A folder with stores and keys, and the commands on them."""

    def __init__(self, dbtool, folder):
        self.dbtool, self.folder = dbtool, folder
        folder.mkdir(parents=True, exist_ok=True)

    def place(self, name):
        return self.folder / name

    def run(self, verb, *words, key=None):
        keys = ["--key-file", self.place(key)] if key else []
        return run([self.dbtool, *verb.split(), *words, *keys, "--quiet", "--no-input"], self.folder)

    def succeed(self, verb, *words, key=None):
        answer = self.run(verb, *words, key=key)
        if answer.code:
            raise Failed(f"{verb} {words}: exit {answer.code}: {answer.errors}")
        return answer.output.decode().strip()

    def line(self, *words):
        """Makes a key, and returns its public line, if it has one."""
        answer = run([self.dbtool, "keygen", *words], self.folder)
        if answer.code:
            raise Failed(f"keygen {words}: exit {answer.code}: {answer.errors}")
        return answer.output.decode().strip()


class Publisher(Workshop):
    """A publisher with the store `data.coffer`, which `data.key` opens, and the signing key `release.key`."""

    def __init__(self, dbtool, folder, customers):
        super().__init__(dbtool, folder)
        self.key = "data.key"
        self.line(self.key)
        self.line_of_publisher = self.line("--signing", "release.key")
        self.customers = {name: self.line("--identity", f"{name}.identity") for name in customers}
        lines = "".join(json.dumps(document) + "\n" for document in DOCUMENTS)
        self.place("data.ndjson").write_text(lines, encoding="utf-8")
        self.data("import", "data.ndjson", "--create", "--keep-ids")
        self.place("map.bin").write_bytes(bytes(range(256)) * 300)
        self.data("attachment add", "2", "map.bin")

    def data(self, verb, *words):
        return self.succeed(verb, "data.coffer", *words, key=self.key)

    def release(self, *options):
        self.data("release make", "--signing", "release.key", *options)

    def publish(self, folder, customers=None):
        listed = self.customers if customers is None else {name: self.customers[name] for name in customers}
        self.place("customers.txt").write_text("".join(f"{name} {line}\n" for name, line in listed.items()))
        self.data("release publish", folder, "--signing", "release.key", "--customers", "customers.txt")

    def update(self, copy, folder, customer, *options, publisher=None):
        return self.run(
            "update", copy, folder, "--customer", customer, "--publisher", publisher or self.line_of_publisher, *options,
            key=f"{customer}.identity")

    def read(self, folder, customer, *options, publisher=None):
        """What the second reader says."""
        return run(
            [sys.executable, READER, folder, "--customer", customer, "--publisher", publisher or self.line_of_publisher,
             "--key-file", self.place(f"{customer}.identity"), *options], self.folder)


class Setting(Publisher):
    """Four releases. `public-N` is the folder as it was at release N, `NAME-N.coffer` a customer's copy.

    Carl isn't a customer of the third and the fourth. `former.key` signed the first two, and `release.key` the others.
    """

    def __init__(self, dbtool, folder):
        super().__init__(dbtool, folder, ["anna", "bert", "carl"])
        self._release(1)
        self.data("put", "--id", "2", "--text", "Two trams.")
        self.data("rm", "4")
        self.next_line = self.line("--signing", "next.key")
        self._release(2, "--next", self.next_line)
        self.place("release.key").rename(self.place("former.key"))
        self.place("next.key").rename(self.place("release.key"))
        self.data("put", "--id", "3", "--text", "Seven trams.")
        self.data("put", "-c", "cities", "--text", "No tram.", "--title", "Bern")
        self._release(3, customers=["anna", "bert"])
        self.data("put", "--id", "3", "--text", "Eight trams.")
        self._release(4, customers=["anna", "bert"])

    def _release(self, number, *options, customers=None):
        self.release(*options)
        self.publish("public", customers)
        shutil.copytree(self.place("public"), self.place(f"public-{number}"))
        for name in customers or self.customers:
            create = ["--create"] if number == 1 else []
            answer = self.update(f"{name}.coffer", "public", name, *create)
            if answer.code:
                raise Failed(f"{name} can't update: {answer.errors}")
            shutil.copy(self.place(f"{name}.coffer"), self.place(f"{name}-{number}.coffer"))
