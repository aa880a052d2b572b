"""The table of what is broken on purpose: a store to begin with, a command, and what may be found after it."""

import json
from dataclasses import dataclass
from pathlib import Path

KEYS = Path(__file__).resolve().parents[2] / "Keys"
STORE = "s.coffer"
PRIMARY, NEXT = ["--key-file", KEYS / "primary.key"], ["--key-file", KEYS / "next.key"]
NEW = ["--new-key-file", KEYS / "next.key"]
OLD_KEY, NEW_KEY, BOTH = frozenset(["primary"]), frozenset(["next"]), frozenset(["primary", "next"])

DOCUMENTS = [
    {
        "id": number, "title": f"title {number} " + "t" * (number * 37 % 200), "key": f"key {number}" if number % 2 else None,
        "text": f"text {number} " * (3000 if number == 5 else number * 11), "attributes": {"n": number},
        "collection": "one" if number % 3 else "two",
    }
    for number in range(1, 15)
]


@dataclass(frozen=True)
class Workload:
    """A command that changes a store, or only reads it."""

    name: str
    command: list
    # The sets of keys that may open the store afterwards: as before, then as the command leaves it.
    keys: tuple
    # What brings an interrupted run to its end where the last set of keys opens already; nil runs the command again.
    resume: list = None
    # Commands that prepare the store behind the documents.
    before: tuple = ()
    creation: tuple = ()
    # Files beside the store that a whole run makes; a broken one makes each whole or not at all.
    outputs: tuple = ()
    titles: tuple = ("sealed", "sealed")


def _rekey(*options, **fields):
    return dict(
        command=["rekey", STORE, *PRIMARY, *NEW, "--batch", "4", *options], keys=(OLD_KEY, NEW_KEY),
        resume=["rekey", STORE, *NEXT, "--resume", "--batch", "4"], **fields)


_EACH = {
    "rekey": _rekey(),
    "rekey-titles": _rekey("--titles", "clear", titles=("sealed", "clear")),
    "key-add": dict(command=["key", "add", STORE, *PRIMARY, *NEW], keys=(OLD_KEY, BOTH)),
    "key-passwd": dict(command=["key", "passwd", STORE, *PRIMARY, *NEW], keys=(OLD_KEY, NEW_KEY)),
    "key-remove": dict(
        command=["key", "remove", STORE, *PRIMARY, "--slot", "2"], keys=(BOTH, OLD_KEY),
        before=(["key", "add", STORE, *PRIMARY, *NEW],)),
    "export": dict(
        command=["export", STORE, *PRIMARY, "--all", "-o", "out.ndjson"], keys=(OLD_KEY,), outputs=("out.ndjson",)),
}

WORKLOADS = [
    Workload(name if journal == "rollback" else f"{name}-wal", creation=("--journal", journal), **fields)
    for name, fields in _EACH.items()
    for journal in ("rollback", "wal")
]


def prepare(workload, dbtool, runner):
    """Makes the store of a workload in the runner's folder."""
    lines = "".join(
        json.dumps({name: value for name, value in document.items() if value is not None}) + "\n"
        for document in DOCUMENTS)
    steps = [
        (["create", STORE, "--test", *workload.creation, *PRIMARY], None),
        (["import", STORE, "-", "--from", "ndjson", "--keep-ids", *PRIMARY], lines.encode()),
        *((command, None) for command in workload.before),
    ]
    for command, given in steps:
        done = runner.plain([dbtool, *command, "--no-input"], input=given)
        if done.returncode:
            raise RuntimeError(f"{workload.name}: {command[0]}: {done.stderr.decode().strip()}")
