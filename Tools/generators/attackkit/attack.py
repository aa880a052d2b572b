"""An attack on a store, and its expected outcomes."""

from dataclasses import dataclass, field

from .contents import features as features_of
from .secrets import REMOVED, SECRETS

# Replacements in the SQL of a STRICT table, so that its columns accept any value for the time of an edit.
LOOSE = {
    " STRICT": "", " NOT NULL": "", " CHECK(one=1)": "", " INTEGER PRIMARY KEY": " \0", " INTEGER": "", " TEXT": "",
    " BLOB": "", " \0": " INTEGER PRIMARY KEY"}


# The documents of the stores that attacks start from.
IDS = (1, 2, 3, 4, 5, 7, 8)


@dataclass
class Attack:
    """One broken store. `edit` changes the file of the base (given a connection), `patch` does so (given its path), or
    `forge` changes the base before it is saved (given the writer, already a copy)."""

    name: str
    base: str
    what: str
    edit: object = None
    forge: object = None
    patch: object = None
    # Outcomes; the kit's README explains the words.
    open: str = "ok"
    get: dict = field(default_factory=dict)
    list: str = "ok"
    verify: str = "mismatch"
    quick: str = None
    anchor: str = "ok"
    put: str = None
    # Outcomes of attachments: of the whole content by number, of lists by document; parts are (number, first byte, end,
    # outcome).
    attachments: dict = field(default_factory=dict)
    attachment_lists: dict = field(default_factory=dict)
    attachment_parts: tuple = ()
    # Texts to search for.
    searches: tuple = ()
    open_by: dict = field(default_factory=dict)
    also: dict = field(default_factory=dict)
    # Authentic documents that differ from the base: {id: the document in the base's history}.
    reads: dict = field(default_factory=dict)
    # The same for attachments, by number.
    attachment_reads: dict = field(default_factory=dict)
    # Features of `incompat` that a reader must have for these outcomes, where they are not those of the base.
    features: tuple = ()
    # Outcomes by pin, and by anchor line: (outcome, the same where descent must be proved). With a pin given besides:
    # (anchor line, pin, outcome, the same where descent must be proved).
    pins: dict = field(default_factory=dict)
    anchors: dict = field(default_factory=dict)
    anchors_by_pin: tuple = ()
    # Outcomes of opening as a reader who expects a publisher, by its line.
    publishers: dict = field(default_factory=dict)
    opener: str = "key"
    note: str = None

    def expectation(self, kit):
        base = kit.base(self.base)
        found = {
            "attack": self.what, "base": self.base, "by": "key holder" if self.forge else "file",
            "opener": {self.opener: SECRETS[self.opener]}, "anchor_line": base.anchor, "open": self.open,
        }
        if features := list(self.features) or features_of(base):
            found["features"] = features
        if self.open_by:
            found["open_by"] = self.open_by
        if "removed" in self.open_by:
            found["secrets"] = {"removed": REMOVED}
        if self.pins:
            found["pins"] = [{"pin": pin, "open": outcome} for pin, outcome in self.pins.items()]
        if self.publishers:
            found["publishers"] = self.publishers
        if self.open == "ok":
            found |= {
                "get": {str(id): self.get.get(id, "ok") for id in sorted(set(base.records) | set(self.get))},
                "list": self.list, "verify": self.verify, "verify_quick": self.quick or self.verify,
                "anchor": self.anchor,
            }
            if features:
                found |= self._of_attachments(base)
            anchors = [
                {"anchor": line, "verdict": verdict, "descends": descends}
                for line, (verdict, descends) in self.anchors.items()]
            anchors += [
                {"anchor": line, "pin": pin, "verdict": verdict, "descends": descends}
                for line, pin, verdict, descends in self.anchors_by_pin]
            if anchors:
                found["anchors"] = anchors
            if self.put:
                found["put"] = self.put
            if self.searches:
                found["searches"] = searches(base, self.searches)
            if self.reads:
                found["documents"] = {str(id): document for id, document in self.reads.items()}
        if self.also:
            found["also_acceptable"] = self.also
        if self.note:
            found["note"] = self.note
        return found

    def _of_attachments(self, base):
        found = {
            "get_attachments": {
                str(number): self.attachments.get(number, "ok")
                for number in sorted(set(base.attachments) | set(self.attachments))},
            "list_attachments": {
                str(id): self.attachment_lists.get(id, "ok")
                for id in sorted(set(base.records) | set(self.attachment_lists))}}
        if self.attachment_parts:
            names = "attachment", "start", "end", "outcome"
            found["attachment_parts"] = [dict(zip(names, part)) for part in self.attachment_parts]
        if self.attachment_reads:
            found["attachments"] = {str(number): one for number, one in self.attachment_reads.items()}
        return found


def searches(writer, texts):
    """The documents of the first collection that hold a text in title or text, in its order."""
    listed = sorted((r for r in writer.records.values() if r.coll == 1), key=lambda r: (r.pos, r.id))
    return {text: [r.id for r in listed if text.encode() in (r.title or b"") + b"\0" + r.text] for text in texts}


def run(*statements):
    """An edit that runs SQL: texts, or (text, parameters)."""

    def edit(db, kit):
        for statement in statements:
            if isinstance(statement, str):
                db.execute(statement)
            else:
                db.execute(*statement)

    return edit


def loosely(*statements):
    """The same, with values that the STRICT tables would refuse."""

    def edit(db, kit):
        texts = db.execute("SELECT name, sql FROM sqlite_schema WHERE type='table'").fetchall()
        db.execute("PRAGMA writable_schema=ON")
        for name, sql in texts:
            for word, instead in LOOSE.items():
                sql = sql.replace(word, instead)
            db.execute("UPDATE sqlite_schema SET sql=? WHERE name=?", (sql, name))
        _reload(db)
        run(*statements)(db, kit)
        for name, sql in texts:
            db.execute("UPDATE sqlite_schema SET sql=? WHERE name=?", (sql, name))
        _reload(db)

    return edit


def past_unique(*statements):
    """An edit that SQLite's unique index of keys would refuse."""
    both = "CREATE INDEX coffer_record_lookup", "CREATE UNIQUE INDEX coffer_record_lookup"

    def replaced(db, old, new):
        db.execute("PRAGMA writable_schema=ON")
        db.execute("UPDATE sqlite_schema SET sql=replace(sql,?,?)", (old, new))
        _reload(db)

    def edit(db, kit):
        replaced(db, *both[::-1])
        run(*statements)(db, kit)
        replaced(db, *both)

    return edit


def schema(*statements):
    """An edit by statements that write sqlite_schema itself."""

    def edit(db, kit):
        db.execute("PRAGMA writable_schema=ON")
        run(*statements)(db, kit)
        _reload(db)

    return edit


def _reload(db):
    version = db.execute("PRAGMA schema_version").fetchone()[0]
    db.execute(f"PRAGMA schema_version={version + 1}")
    db.execute("PRAGMA writable_schema=ON")
