"""The workloads for power cuts: at most three commands on a small store."""

from dataclasses import dataclass, replace

from faults.workloads import FILE, NEW, NEXT, PRIMARY, STORE

LINES = b"one line\nand another\n" + b"a long one " * 500 + b"\n"
BASE = [
    ["create", STORE, "--test", *PRIMARY],
    *(["put", STORE, "--title", f"title {number}", "--text", f"text {number} " * number ** 5, *PRIMARY]
      for number in range(1, 5)),
]


@dataclass(frozen=True)
class Workload:
    name: str
    commands: tuple
    # Commands that make the initial files.
    before: tuple = tuple(BASE)
    given: bytes = None
    # Whether the command commits more than once: then a state may hold only the first of the documents that it adds.
    commits_in_steps: bool = False
    # Files and directories that a command makes wholly or not at all; if not, an earlier one remains as it was.
    outputs: tuple = ()
    # Whether the command writes an output under its final name from the beginning.
    is_made_in_place: bool = False
    # Whether a cut can leave only few different states.
    has_few_states: bool = False


def _put(*options, text="a new text " * 40):
    return ["put", STORE, "--text", text, *options, *PRIMARY]


_INDEX = ["index", "add", STORE, "-c", "documents", "words", "titles", "n=@size:number", *PRIMARY]
_ATTACH = ["attachment", "add", STORE, "4", FILE, *PRIMARY]
_TEXTS = ["export", STORE, "-o", "out.text", "--to", "text", *PRIMARY]
_EACH = [
    Workload("put", (_put(),)),
    Workload("put-long", (_put(text="a long text " * 1000),)),
    Workload("put-put", (_put("--title", "a"), _put("--id", "2", "--update-only"))),
    Workload("put-rm-put", (_put(), ["rm", STORE, "3", *PRIMARY], _put("--top"))),
    Workload("title", (["put", STORE, "--id", "1", "--title", "another", "--update-only", "--text", "x", *PRIMARY],)),
    Workload("import", (["import", STORE, "-", "--from", "lines", *PRIMARY],), given=LINES),
    Workload(
        "import-batches", (["import", STORE, "-", "--from", "lines", "--batch", "1", *PRIMARY],), given=LINES,
        commits_in_steps=True),
    Workload("key-add", (["key", "add", STORE, *PRIMARY, *NEW],)),
    Workload("key-passwd", (["key", "passwd", STORE, *PRIMARY, *NEW],)),
    Workload("rekey-keys", (["rekey", STORE, "--keys-only", *PRIMARY, *NEW],)),
    Workload("rekey", (["rekey", STORE, "--batch", "2", *PRIMARY, *NEW], ["put", STORE, "--text", "later", *NEXT])),
    Workload("attach", (_ATTACH, ["attachment", "rm", STORE, "4", FILE.name, *PRIMARY])),
    Workload("rekey-attached", (["rekey", STORE, "--batch", "2", *PRIMARY, *NEW],), before=(*BASE, _ATTACH)),
    Workload("merge-attached", (["merge", STORE, "copy.coffer", *PRIMARY],), outputs=("copy.coffer",), before=(
        *BASE, ["copy", STORE, "copy.coffer", "--editable", *PRIMARY],
        ["attachment", "add", "copy.coffer", "4", FILE, *PRIMARY])),
    Workload("compact", (["rm", STORE, "4", *PRIMARY], ["compact", STORE])),
    Workload("create", (["create", STORE, "--test", *PRIMARY], _put()), before=()),
    Workload("keygen", (["keygen", "new.key"],), outputs=("new.key",), has_few_states=True),
    Workload("backup", (_put(), ["backup", STORE, "copy.coffer"]), outputs=("copy.coffer",)),
    Workload("export", (["export", STORE, "-o", "out.ndjson", *PRIMARY],), outputs=("out.ndjson",),
        has_few_states=True),
    Workload("backup-force", (["backup", STORE, "copy.coffer", "--force"],), before=(
        *BASE, ["backup", STORE, "copy.coffer"], ["rm", STORE, "3", *PRIMARY]), outputs=("copy.coffer",),
        has_few_states=True),
    Workload("copy-editable", (["copy", STORE, "copy.coffer", "--editable", *PRIMARY],), outputs=("copy.coffer",), has_few_states=True),
    Workload("merge", (["merge", STORE, "copy.coffer", *PRIMARY],), outputs=("copy.coffer",), before=(
        *BASE, ["copy", STORE, "copy.coffer", "--editable", *PRIMARY],
        ["put", "copy.coffer", "--id", "3", "--text", "from the copy " * 300, *PRIMARY],
        ["put", "copy.coffer", "--text", "new there", *PRIMARY], ["rm", "copy.coffer", "2", *PRIMARY])),
    Workload("index-add", (_INDEX,)),
    Workload("index-update", (["index", "update", STORE, *PRIMARY],), before=(
        *BASE, _INDEX, _put("--title", "later"), ["rm", STORE, "2", *PRIMARY])),
    Workload("restore-id", (["restore", STORE, "copy.coffer", "3-4", *PRIMARY],), outputs=("copy.coffer",),
        before=(*BASE, ["backup", STORE, "copy.coffer"], ["rm", STORE, "3", "4", *PRIMARY])),
    Workload("export-text", (_TEXTS,), outputs=("out.text",)),
    Workload("export-text-force", ([*_TEXTS, "--force"],), before=(*BASE, [*_TEXTS, "4"]), outputs=("out.text",)),
]


def _in(journal, workload):
    """Adds the journal's option to each command that makes the store."""
    def with_journal(command):
        return [*command, "--wal"] if command[0] == "create" and journal == "wal" else command

    return replace(
        workload, name=workload.name if journal == "rollback" else f"{workload.name}-wal",
        commands=tuple(with_journal(command) for command in workload.commands),
        before=tuple(with_journal(command) for command in workload.before))


WORKLOADS = [_in(journal, workload) for workload in _EACH for journal in ("rollback", "wal")]
