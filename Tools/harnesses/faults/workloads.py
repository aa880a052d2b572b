"""The workloads for faults: each is a store, a command, and the states that an interrupted run may leave."""

import functools
import json
from dataclasses import dataclass, field
from pathlib import Path

from harness import KEYS, TOOLS, environment

from .calls import Runner

STORE, INPUT = "s.coffer", "../in.ndjson"
# A file of two chunks.
FILE = TOOLS.parent / "Sources" / "Coffer" / "Coffer.docc" / "FORMAT.md"
PRIMARY, NEXT = ["--key-file", KEYS / "primary.key"], ["--key-file", KEYS / "next.key"]
NEW = ["--new-key-file", KEYS / "next.key"]
# A TEST store's slots take scrypt with logN 10.
PHRASE, NEW_PHRASE = (["--" + kind, KEYS / "passphrase.txt"] for kind in ("passphrase-file", "new-passphrase-file"))
BY_PHRASE, OLD_KEY, NEW_KEY, BOTH = map(frozenset, (["phrase"], ["primary"], ["next"], ["primary", "next"]))
# Each text and each title contains one of these, so that a search finds a file that shows them.
IN_TEXTS, IN_TITLES = "plainly written", "openly titled"


def _document(number, collection):
    return {
        "id": number, "title": f"{IN_TITLES} {number * 5 % 16} " + "t" * (number * 37 % 200),
        "text": f"{IN_TEXTS} {number} " * (1500 if number == 5 else number * 11), "collection": collection,
        "attributes": {"n": number}, **({"key": f"key {number}"} if number % 2 else {}),
    }


DOCUMENTS = [_document(number, "one" if number % 3 else "two") for number in range(1, 15)]
# Documents 1 and 2 are in the store already.
MORE = [_document(number, "one") | {"title": f"{IN_TITLES}, once more"} for number in (1, 2, *range(15, 27))]


@dataclass(frozen=True)
class Workload:
    """A command that changes a store, or only reads it."""

    name: str
    command: list
    # The sets of keys that may open the store afterwards: as before, then as the command leaves it.
    keys: tuple = (OLD_KEY,)
    # Completes an interrupted run if the last set of keys opens the store already; None: the command itself does.
    resume: list = None
    # Commands that prepare the store after its documents are imported.
    before: tuple = ()
    creation: tuple = ()
    # Files, stores (*.coffer) and directories beside the store that a complete run makes. An interrupted run makes each
    # whole or not at all, and leaves an earlier one as it was.
    outputs: tuple = ()
    # Another store that the command reads. It remains, and the command may leave an empty log beside it.
    reads: str = ""
    titles: tuple = ("sealed", "sealed")
    # Whether the command commits more than once.
    is_in_batches: bool = False
    # Whether the store exists before the command.
    is_made: bool = True
    variables: dict = field(default_factory=dict)
    # Whether the file system lacks unnamed files (O_TMPFILE): then a kill may leave a file with a temporary name.
    is_named: bool = False
    # Exit codes that a kill may lead to: it may have hit a child of the command.
    killed: tuple = ()


def _rekey(*options, key=PRIMARY, new=NEW, last=NEXT, keys=(OLD_KEY, NEW_KEY), **fields):
    return dict(
        command=["rekey", STORE, *key, *new, "--batch", "4", *options], keys=keys,
        resume=["rekey", STORE, *last, "--resume", "--batch", "4"], **fields)


def _verb(verb, *arguments, **fields):
    return dict(command=[*verb.split(), STORE, *PRIMARY, *arguments], **fields)


def _export(name, *options):
    return _verb("export", "-o", name, *options, outputs=(name,))


def _forced(name, *options):
    """Replaces an earlier export of fewer documents."""
    earlier = ["export", STORE, *PRIMARY, "1", "2", "-o", name, *options]
    return _export(name, "--force", *options) | dict(before=(earlier,))


# A copy of the store with other changes.
_OTHER = (
    ["copy", STORE, "other.coffer", "--editable", *PRIMARY],
    ["put", "other.coffer", *PRIMARY, "--id", "5", "--text", f"{IN_TEXTS} there", "--title", IN_TITLES],
    ["put", "other.coffer", *PRIMARY, "-c", "one", "--text", f"{IN_TEXTS}, new", "--title", IN_TITLES],
    ["rm", "other.coffer", *PRIMARY, "6"], ["mv", "other.coffer", *PRIMARY, "14", "--to", "top"],
)


# Indexes of both collections, and changes that they lack.
_INDEXES = [["index", "add", STORE, *PRIMARY, "-c", name, "words", "substrings", "titles", "n=@size:number"]
            for name in ("one", "two")]
_BEHIND = (
    *_INDEXES, ["put", STORE, *PRIMARY, "--id", "5", "-c", "one", "--text", f"{IN_TEXTS} later"], ["rm", STORE, *PRIMARY, "6"],
    ["put", STORE, *PRIMARY, "-c", "two", "--text", f"{IN_TEXTS}, new", "--title", IN_TITLES],
)


# A document with attachments.
ATTACHED = (
    ("attachment", "add", STORE, *PRIMARY, "5", FILE, "--name", "file"),
    ("attachment", "add", STORE, *PRIMARY, "5", KEYS / "recipient.txt"),
)
# A copy of the store with an attachment of its own, and without one of the store's.
_OTHER_ATTACHED = (
    *ATTACHED, ["copy", STORE, "other.coffer", "--editable", *PRIMARY],
    ["attachment", "add", "other.coffer", *PRIMARY, "4", FILE], ["attachment", "rm", "other.coffer", *PRIMARY, "5", "file"],
)


def _import(*options, **fields):
    return _verb("import", INPUT, "--keep-ids", *options, **fields)


_EACH = {
    "put": _verb("put", "-c", "documents", "--text", IN_TEXTS * 9, "--title", IN_TITLES),
    "put-over": _verb("put", "--id", "5", "-c", "one", "--text", IN_TEXTS),
    "edit": _verb(
        "edit", "4", variables={"EDITOR": f"sed -i 's/{IN_TEXTS}/{IN_TEXTS} anew/g'", "VISUAL": ""}, killed=(1,)),
    "import": _import("--on-conflict", "update"),
    "import-batch": _import("--on-conflict", "skip", "--batch", "3", is_in_batches=True),
    "import-create": _import("--create", is_made=False),
    "rm": _verb("rm", "1", "5", "6"),
    "clear": _verb("collection clear", "one", "--force", "--restart-ids"),
    "drop": _verb("collection drop", "two", "--force"),
    "mv": _verb("mv", "14", "--to", "top"),
    "mv-collection": _verb("mv", "14", "--into", "two"),
    "sort": _verb("collection sort", "one", "--by", "title", "--reverse"),
    "compact": dict(command=["compact", STORE], before=(["rm", STORE, *PRIMARY, "5"],)),
    "backup": dict(command=["backup", STORE, "out.coffer"], outputs=("out.coffer",)),
    "copy-salvage": _verb("copy", "out.coffer", "--salvage", *NEW, outputs=("out.coffer",)),
    "copy": _verb("copy", "out.coffer", *NEW, outputs=("out.coffer",)),
    **{f"export-{kind}": _export(f"out.{kind}", "--to", kind) for kind in ("ndjson", "json", "sqlite", "text")},
    **{f"export-{kind}-force": _forced(f"out.{kind}", "--to", kind) for kind in ("ndjson", "sqlite", "text")},
    "copy-force": _verb(
        "copy", "out.coffer", "--force", *NEW, outputs=("out.coffer",),
        before=(["copy", STORE, *PRIMARY, "out.coffer", "1", "2", *NEW],)),
    "backup-force": dict(
        command=["backup", STORE, "out.coffer", "--force"], outputs=("out.coffer",),
        before=(["backup", STORE, "out.coffer"], ["rm", STORE, *PRIMARY, "5"])),
    "restore": dict(
        command=["restore", STORE, "earlier.coffer", "--force"], reads="earlier.coffer",
        before=(["backup", STORE, "earlier.coffer"], ["rm", STORE, *PRIMARY, "5"])),
    "restore-id": _verb(
        "restore", "earlier.coffer", "4-6", reads="earlier.coffer",
        before=(["backup", STORE, "earlier.coffer"], ["rm", STORE, *PRIMARY, "5", "6"])),
    "copy-editable": _verb("copy", "out.coffer", "--editable", outputs=("out.coffer",)),
    "merge": _verb("merge", "other.coffer", reads="other.coffer", before=_OTHER),
    **{f"export-{kind}-named": _export(f"out.{kind}", "--to", kind) | dict(is_named=True) for kind in ("ndjson", "sqlite")},
    **{
        f"export-{kind}-force-named": _forced(f"out.{kind}", "--to", kind) | dict(is_named=True)
        for kind in ("ndjson", "sqlite")
    },
    **{
        f"export-{kind}": _verb("export", "-c", "one", "-o", f"out.{kind}", outputs=(f"out.{kind}",))
        for kind in ("csv", "tsv", "plist")
    },
    "index-add": dict(command=_INDEXES[0]),
    "index-again": dict(command=_INDEXES[1], before=_INDEXES[:1]),
    "index-update": _verb("index update", before=_BEHIND),
    "index-drop": _verb("index drop", "-c", "one", before=tuple(_INDEXES)),
    "put-indexed": _verb("put", "-c", "documents", "--text", IN_TEXTS * 9, "--title", IN_TITLES, before=tuple(_INDEXES)),
    "rekey": _rekey(),
    "rekey-indexed": _rekey(before=_BEHIND),
    "rekey-titles": _rekey("--titles", "clear", titles=("sealed", "clear")),
    "rekey-phrase": _rekey(new=NEW_PHRASE, last=PHRASE, keys=(OLD_KEY, BY_PHRASE)),
    "attach": _verb("attachment add", "5", FILE, INPUT),
    "attach-replace": _verb("attachment add", "5", INPUT, "--name", "file", "--replace", before=ATTACHED),
    "attach-rm": _verb("attachment rm", "5", "file", before=ATTACHED),
    "rm-attached": _verb("rm", "5", before=ATTACHED),
    "rekey-attached": _rekey(before=ATTACHED),
    "copy-attached": _verb("copy", "out.coffer", *NEW, outputs=("out.coffer",), before=ATTACHED),
    "merge-attached": _verb("merge", "other.coffer", reads="other.coffer", before=_OTHER_ATTACHED),
    "restore-attached": _verb(
        "restore", "earlier.coffer", "5", reads="earlier.coffer",
        before=(*ATTACHED, ["backup", STORE, "earlier.coffer"], ["rm", STORE, *PRIMARY, "5"])),
    "compact-attached": dict(
        command=["compact", STORE], before=(*ATTACHED, ["attachment", "rm", STORE, *PRIMARY, "5", "file"])),
    "export-text-attached": _export("out.text", "--to", "text") | dict(before=ATTACHED),
    "key-add": dict(command=["key", "add", STORE, *PRIMARY, *NEW], keys=(OLD_KEY, BOTH)),
    "key-add-phrase": dict(command=["key", "add", STORE, *PRIMARY, *NEW_PHRASE], keys=(OLD_KEY, OLD_KEY | BY_PHRASE)),
    "key-passwd": dict(command=["key", "passwd", STORE, *PRIMARY, *NEW], keys=(OLD_KEY, NEW_KEY)),
    "key-passwd-phrase": dict(command=["key", "passwd", STORE, *PRIMARY, *NEW_PHRASE], keys=(OLD_KEY, BY_PHRASE)),
    "key-remove": dict(
        command=["key", "remove", STORE, *PRIMARY, "2"], keys=(BOTH, OLD_KEY),
        before=(["key", "add", STORE, *PRIMARY, *NEW],)),
}


def _in(journal, name, fields):
    option = ("--wal",) if journal == "wal" else ()
    return Workload(name if journal == "rollback" else f"{name}-wal", creation=option, **fields)


# A store that the command itself makes has a rollback journal.
WORKLOADS = [
    _in(journal, name, fields) for name, fields in _EACH.items() for journal in ("rollback", "wal")
    if journal == "rollback" or fields.get("is_made", True)]


def lines(documents):
    return "".join(json.dumps(document) + "\n" for document in documents).encode()


def prepare(workload, dbtool, runner):
    """Makes the store of a workload in the runner's folder."""
    steps = [
        (["create", STORE, "--test", *workload.creation, *PRIMARY], None),
        (["import", STORE, "-", "--from", "ndjson", "--keep-ids", *PRIMARY], lines(DOCUMENTS)),
        *((command, None) for command in workload.before),
    ]
    for command, given in steps if workload.is_made else ():
        done = runner.plain([dbtool, *command, "--no-input"], input=given)
        if done.returncode:
            raise RuntimeError(f"{workload.name}: {command[0]}: {done.stderr.decode().strip()}")


@functools.cache
def store(journal, before, dbtool, above):
    """Returns a folder with a store in that journal mode, after some commands; each is made once."""
    base = Path(above, f"{journal}-{len(list(Path(above).iterdir()))}")
    base.mkdir()
    prepare(Workload(journal, [], (), before=before, creation=("--wal",) if journal == "wal" else ()), dbtool, Runner(environment(), base))
    return base
