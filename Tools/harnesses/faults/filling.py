"""The commands that run on a filling disk: each verb that writes, with the result of a complete run."""

import json
from dataclasses import dataclass, field

from .workloads import ATTACHED, DOCUMENTS, FILE, IN_TEXTS, NEW, NEXT, PRIMARY, STORE

OLD_KEY, NEW_KEY, BOTH = map(frozenset, (["primary"], ["next"], ["primary", "next"]))
MORE = [f"line {number} " + "x" * 900 for number in range(60)]
LINES = "".join(line + "\n" for line in MORE).encode()
REJECTED = '{"title": broken}'
# Every second line is not a record.
HALF_GOOD = "".join(json.dumps({"text": line}) + f"\n{REJECTED}\n" for line in MORE).encode()
LONGER = "longer " * 8000

_NUMBERED = {name: tuple(
    (document["id"], document["text"]) for document in DOCUMENTS if document["collection"] == name)
    for name in ("one", "two")}


@dataclass(frozen=True)
class Verb:
    """One verb. Its expectations derive from the input, never from the output of dbtool or of the second reader."""

    name: str
    command: tuple
    given: bytes = None
    # The store's documents after the command: {collection: ((id, text), …) in order}.
    holds: dict = field(default_factory=lambda: _NUMBERED)
    keys: frozenset = OLD_KEY
    # {name: documents in the file or directory that the command makes}, as exports.shelves reads them.
    outputs: dict = field(default_factory=dict)
    # Another store that the command reads. It remains, and the command may leave an empty log beside it.
    reads: str = ""
    # Commands that run first, with room on the disk.
    before: tuple = ()
    # Whether a failed run may have changed the key already: a rekey changes the key at once, then documents in steps.
    changes_key: bool = False
    # The command that completes such a run.
    resume: tuple = ()
    variables: dict = field(default_factory=dict)
    # Whether each run makes a different file, from random bytes.
    is_drawn: bool = False
    # The exit code of a complete run.
    status: int = 0


def _on(verb, *arguments, **fields):
    return dict(command=(*verb.split(), STORE, *arguments, *PRIMARY), **fields)


def _export(name, holds=_NUMBERED, *options, **fields):
    return _on("export", *options, "-o", name, outputs={name: holds}, **fields)


def _one_alone(name):
    return _export(name, {"": _NUMBERED["one"]}, "-c", "one")


def _without(*ids):
    return {name: tuple(document for document in each if document[0] not in ids) for name, each in _NUMBERED.items()}


def _with(name, *documents):
    return _NUMBERED | {name: (*_NUMBERED.get(name, ()), *documents)}


def _replaced(id, text):
    return {
        name: tuple((each, text if each == id else old) for each, old in documents)
        for name, documents in _NUMBERED.items()
    }


def _numbered(texts):
    return tuple(enumerate(texts, 15))


_TEXTS = dict(_NUMBERED["one"])
_TITLES = {document["id"]: document["title"] for document in DOCUMENTS}
_BEHIND_5 = _NUMBERED["one"].index((5, _TEXTS[5])) + 1
# An earlier export to the same name, of fewer documents.
_EARLIER = ("export", STORE, *PRIMARY, "1", "-o")

_EACH = {
    "put": _on("put", "-", "--id", "2", given=LONGER.encode(), holds=_replaced(2, LONGER)),
    "edit": _on(
        "edit", "5", holds=_replaced(5, _TEXTS[5].replace(IN_TEXTS, LONGER[:70])),
        variables={"EDITOR": f"sed -i 's/{IN_TEXTS}/{LONGER[:70]}/g'", "VISUAL": ""}),
    "import": _on("import", "-", "-c", "documents", "--from", "lines", given=LINES, holds=_with("documents", *_numbered(MORE))),
    "import-rejects": _on(
        "import", "-", "-c", "documents", "--from", "ndjson", "--on-error", "skip", "--rejects", "rejects.txt", given=HALF_GOOD, status=3,
        holds=_with("documents", *_numbered(MORE)),
        outputs={"rejects.txt": {"": ((0, f"{REJECTED}\n".encode() * len(MORE)),)}}),
    "import-create": dict(
        command=("import", "new.coffer", "-", "--from", "lines", "--create", *PRIMARY), given=LINES,
        outputs={"new.coffer": {"documents": tuple(enumerate(MORE, 1))}}),
    "rm": _on("rm", "1", "2", "3", holds=_without(1, 2, 3)),
    "clear": _on("collection clear", "one", "--force", holds={"two": _NUMBERED["two"]}),
    "collections-create": _on("collection create", "three"),
    "collections-drop": _on("collection drop", "two", "--force", holds={"one": _NUMBERED["one"]}),
    "mv": _on(
        "mv", "14", "--to", "top",
        holds=_NUMBERED | {"one": (_NUMBERED["one"][-1], *_NUMBERED["one"][:-1])}),
    "sort": _on(
        "collection sort", "one", "--by", "title", "--reverse",
        holds=_NUMBERED | {
            "one": tuple(sorted(_NUMBERED["one"], key=lambda document: _TITLES[document[0]], reverse=True))}),
    "key-add": _on("key add", *NEW, keys=BOTH),
    "key-passwd": _on("key passwd", *NEW, keys=NEW_KEY),
    "key-remove": _on(
        "key remove", "2", before=(("key", "add", STORE, *PRIMARY, *NEW),)),
    "rekey": _on(
        "rekey", "--batch", "4", *NEW, keys=NEW_KEY, changes_key=True,
        resume=("rekey", STORE, "--batch", "4", "--resume", *NEXT)),
    "compact": dict(command=("compact", STORE), before=(("rm", STORE, *PRIMARY, "5"),), holds=_without(5)),
    "backup": dict(command=("backup", STORE, "copy.coffer"), outputs={"copy.coffer": _NUMBERED}),
    "backup-force": dict(
        command=("backup", STORE, "copy.coffer", "--force"), outputs={"copy.coffer": _without(5)},
        holds=_without(5), before=(("backup", STORE, "copy.coffer"), ("rm", STORE, *PRIMARY, "5"))),
    "restore": dict(
        command=("restore", STORE, "copy.coffer", "--force"), holds=_NUMBERED, reads="copy.coffer",
        before=(("backup", STORE, "copy.coffer"), ("rm", STORE, *PRIMARY, "5"))),
    "restore-id": _on(
        "restore", "copy.coffer", "5", reads="copy.coffer",
        before=(("backup", STORE, "copy.coffer"), ("rm", STORE, *PRIMARY, "5"))),
    "copy-editable": _on("copy", "copy.coffer", "--editable", outputs={"copy.coffer": _NUMBERED}),
    "merge": _on(
        "merge", "copy.coffer", reads="copy.coffer", holds=_replaced(2, LONGER),
        before=(("copy", STORE, "copy.coffer", "--editable", *PRIMARY), ("put", "copy.coffer", *PRIMARY, "--id", "2", "--text", LONGER))),
    "attach": _on("attachment add", "5", FILE),
    "attach-replace": _on("attachment add", "5", FILE, "--name", "recipient.txt", "--replace", before=ATTACHED),
    "rekey-attached": _on(
        "rekey", "--batch", "4", *NEW, keys=NEW_KEY, changes_key=True, before=ATTACHED,
        resume=("rekey", STORE, "--batch", "4", "--resume", *NEXT)),
    "copy-attached": _on("copy", "new.coffer", *NEW, outputs={"new.coffer": _NUMBERED}, before=ATTACHED),
    "restore-attached": _on(
        "restore", "copy.coffer", "5", reads="copy.coffer",
        before=(*ATTACHED, ("backup", STORE, "copy.coffer"), ("rm", STORE, *PRIMARY, "5"))),
    "index-add": _on("index add", "-c", "one", "words", "substrings", "titles"),
    "index-update": _on("index update", before=(
        ("index", "add", STORE, *PRIMARY, "-c", "two", "words", "titles"), ("rm", STORE, *PRIMARY, "3")),
        holds=_without(3)),
    "copy-salvage": _on("copy", "new.coffer", "--salvage", *NEW, outputs={"new.coffer": _NUMBERED}),
    "copy": _on("copy", "new.coffer", *NEW, outputs={"new.coffer": _NUMBERED}),
    **{f"export-{kind}": _export(f"out.{kind}") for kind in ("ndjson", "json", "sqlite")},
    "export-text": _export("out.text", _NUMBERED, "--to", "text"),
    **{f"export-{kind}": _one_alone(f"out.{kind}") for kind in ("csv", "tsv", "plist")},
    "export-force": _export(
        "out.ndjson", _NUMBERED, "--force", before=((*_EARLIER, "out.ndjson"),)),
    "export-text-force": _export(
        "out.text", {"": _NUMBERED["one"]}, "-c", "one", "--to", "text", "--force",
        before=((*_EARLIER, "out.text", "--to", "text"),)),
    "convert": dict(
        command=("convert", "-", "--to", "utf-16le", "-o", "out.txt"), given=LINES,
        outputs={"out.txt": {"": ((0, LINES.decode().encode("utf-16le")),)}}),
    "create": dict(command=("create", "new.coffer", "--test", *PRIMARY), outputs={"new.coffer": {}}),
    "keygen": dict(command=("keygen", "new.key"), outputs={"new.key": {}}, is_drawn=True),
}

VERBS = tuple(Verb(name, **fields) for name, fields in _EACH.items())
