"""The owner, who reads the insider's file, and the judge of the results by SECURITY, "Promises".

A file opens under a root key. If the insider holds that key, or made it for a public recipient, the page promises only
the checks of pin and anchor. Otherwise header and state are those of one moment of the history, and these rules hold:
- every document that dbtool gives out is, in all its parts, one of the store's history, or a forged one that
  FORMAT, "Closed epochs" accepts at that moment;
- verify, an export to a store and the end of a rekey succeed only with exactly the documents of that moment;
- every attachment that it lists is one of the history that the state knows, and every content that it gives out whole is the
  listed one's; a sound store has exactly those of that moment;
- a set that differs stays different after every write;
- the pin of now accepts moments of its root key and phase, and later ones; the anchor of now accepts now alone.
"""

import hashlib
import json
import re
import shutil
import sqlite3

from attackkit.contents import document
from attackkit.layout import IS_VALUE
from attackkit.readers import Dbtool, SecondReader
from attackkit.secrets import NEXT

from .history import file_of
from .sessions import Session

# The permitted answers of reading; any other answer, a signal, or a second of CPU time is a finding.
READING = {"ok", "damaged", "mismatch", "rolled-back", "cannot-unlock", "refused", "newer", "missing", "unfinished"}
WRITING = READING | {"exit 1", "exit 3", "exit 13", "read-only"}
EPOCHS = "SELECT DISTINCT epoch FROM coffer_record"


def contents_of(files):
    """The names and digests of attachments, whose numbers another store doesn't have."""
    return sorted((name, digest) for _, _, name, digest in files)


class Owner(Dbtool):
    """The command, as the owner of one of the secrets runs it."""

    def with_key(self, path, name, line):
        self.path, self.key, self.allow_test = path, self._key(name, line), True
        return self

    def new_key(self, line):
        return "--new-key-file", self._key("key", line)[1]

    def everything(self):
        """All documents by id, and the outcome."""
        kind, output = self.run("export", "--to", "ndjson")
        return {json.loads(line)["id"]: self._document(line) for line in output.split("\n") if line}, kind


class Trial:
    """One file and one secret. `findings` collects sentences; `outcome` is how the file opened, in a few words."""

    def __init__(self, program, folder, insider, secret, rng, faults=()):
        self.insider, self.now, self.secret, self.rng, self.faults = insider, insider.now, secret, rng, faults
        self.path, self.folder = folder / "store.coffer", folder
        self.program, self.findings, self.outcome, self.session = program, [], "", None
        self.owner = Owner(program).with_key(self.path, *secret)

    def find(self, promise, what):
        self.findings.append(f"{promise}: {what}")

    def ask(self, owner, verb, *options, answers=READING):
        kind, output = owner.run(verb, *options)
        if kind not in answers:
            self.find("Exit codes", f"{verb} {' '.join(options)[:60]}: {kind}")
        return kind, output

    def go(self, versions, files):
        """`versions`: every row of the history; `files`: its attachments."""
        self.files = files
        self.versions = {
            id: [record for index, record in known if index <= self.now.index] for id, known in versions.items()}
        before = self.path.read_bytes()
        kind, self.opened = self._anchor()
        self.moment, self.is_own = self._moment()
        self.outcome = kind if kind != "ok" else "opened as an insider's own" if self.is_own else (
            "opened as of now" if self.moment is self.now else "opened as older")
        self.verdict, report = self.ask(self.owner, "verify", "--json")
        if bool(report) != bool(self.opened):
            self.find("Opening", f"anchor: {kind}, verify: {self.verdict}")
        self.readable = self._second_reader()
        self._pins_and_anchors()
        if self.moment:
            self._read()
            self._read_attachments()
        if self.path.read_bytes() != before:
            self.find("Reading", "the file was changed")
        if self.moment:
            self._write()
        if self.secret in self.now.secrets.items() and self.rng.random() < 0.25:
            self._session()
        return self

    def _anchor(self):
        """How the file opens, and the anchor of the state that it opens with, or None."""
        kind, output = self.ask(self.owner, "verify", "--anchor-only", "--save-anchor", "-")
        if kind != "mismatch":
            return kind, output.strip() if kind == "ok" else None
        # dbtool opens the file, but gives no anchor, because the number of its rows is not the state's.
        second = SecondReader()
        kind = second.open(self.path, *self.secret)
        if kind != "ok":
            return "mismatch", None
        line = second.store.anchor
        second.close()
        return kind, line

    # The root key and the moment that the file opened under.

    def _moment(self):
        """The authentic moment whose header and state were opened, and whether the insider made them."""
        if not self.opened:
            return None, False
        _, _, rk_generation, phase, _, commit, _ = self.opened.replace("coffer3:", "x:", 1).split(":")
        pair = int(rk_generation), int(phase)
        for moment in self.insider.moments:
            if moment.writer.anchor == self.opened:
                is_held = moment.root in self.insider.roots and "roots" not in self.faults
                return (None, True) if is_held else (self._checked(moment), False)
        for held in self.insider.held:
            writer = held.writer.copy()
            writer.rk_generation, writer.phase = pair
            if writer.commitment().hex() == commit:
                if "roots" in self.faults:
                    break
                # Wrapping for a passphrase or a key file takes the secret, and binds the root key's generation.
                if pair[0] != held.root and self.secret[0] != "identity":
                    self.find("Slots", f"{self.secret[0]} opened an old root key under the generation {pair[0]}")
                return None, True
        if self.secret[0] != "identity":
            self.find("Opening", f"{self.secret[0]} opened a header or state that its root key's holders did not write")
        elif any(moment.writer.rk_commit.hex() == commit for moment in self.insider.moments):
            self.find("State", "a state that no key holder wrote, under a root key that the insider lacks")
        return None, True

    def _checked(self, moment):
        if self.secret[1] not in moment.secrets.values():
            self.find("Slots", f"{self.secret[0]} opened {moment.label}, which had no slot for it")
        return moment

    # Pin and anchor.

    def _pins_and_anchors(self):
        now, owner, moment = self.now.writer, self.owner, self.moment
        pin, anchor = now.pin, now.anchor
        if "pins" in self.faults and self.opened:
            _, id, rk_generation, phase, _, commit, _ = f":{self.opened}".replace(":coffer3:", ":", 1).split(":")
            pin, anchor = f"coffer-pin-3-{id}{int(rk_generation):016x}{int(phase):016x}{commit}", self.opened
        kind, report = self.ask(owner, "verify", "--json", "--pin", pin)
        is_fit = moment and (moment.writer.rk_generation, moment.writer.phase) >= (now.rk_generation, now.phase)
        if report and not is_fit:
            self.find("Pin", f"the pin of now opened {self._what()}")
        if now.target and self.opened:
            kind, report = self.ask(owner, "verify", "--json", "--pin", now.pin_of(now.phase + 1))
            if report:
                self.find("Pin", f"the pin of the end opened {self._what()}")
        if not self.opened:
            return
        with_word = ("--allow-rekey",) if self.rng.random() < 0.5 else ()
        kind, _ = self.ask(owner, "verify", "--anchor-only", "--anchor", anchor, *with_word)
        if kind == "ok" and moment is not self.now:
            self.find("Anchor", f"the anchor of now{', rekey known,' if with_word else ''} fits {self._what()}")
        self._older_anchor(self.rng.choice(self.insider.moments))

    def _older_anchor(self, kept):
        """Checks an anchor that the owner took earlier; under a root key of the insider it would prove nothing."""
        if kept.root in self.insider.roots:
            return
        moment = self.moment
        kind, _ = self.ask(self.owner, "verify", "--anchor-only", "--anchor", kept.writer.anchor, "--require", "descent")
        is_fit = moment and moment.root == kept.root and moment.index >= kept.index
        if kind == "ok" and not is_fit:
            self.find("Anchor", f"the anchor of {kept.label}, descent asked for, fits {self._what()}")
        kind, _ = self.ask(self.owner, "verify", "--anchor-only", "--anchor", kept.writer.anchor, "--pin", self.now.writer.pin)
        if kind == "ok" and not (moment and moment.root == self.now.root and moment.index >= kept.index):
            self.find("Anchor", f"the anchor of {kept.label} with the pin of now fits {self._what()}")

    def _what(self):
        return f"the store of {self.moment.label}" if self.moment else "an insider's own store"

    # Documents.

    def _fits(self, found, record, writer):
        wanted = document(writer, record)
        for member, value in found.items():
            if member == "text" and "text_sha256" in wanted:
                member, value = "text_sha256", hashlib.sha256(value.encode()).hexdigest()
            expected = bool(wanted["flags"] & IS_VALUE) if member == "json" else wanted[member]
            if member == "attributes":
                expected = json.loads(expected) if expected else None
            if expected != value:
                return False
        return True

    def _vouches(self, record, id, has_written=False):
        """Whether FORMAT, "Closed epochs" and "Checks on rows" accept the row at the moment."""
        writer = self.moment.writer
        epoch = writer.epochs.get(record.epoch)
        if epoch is None or not has_written and (record.rev > writer.generation or id >= writer.bound):
            return False
        return record.epoch == writer.active or (
            record.rev < epoch.closed and epoch.floor <= id < epoch.ceiling
            and not (record.epoch < writer.target and id < writer.cursor))

    def _is_allowed(self, id, found, has_written=False):
        authentic, forged = self.versions.get(id, []), self.insider.forged.get(id, [])
        if "forged" in self.faults:
            forged = []
        return any(
            self._vouches(record, id, has_written) and self._fits(found, record, self.moment.writer)
            for record in (*authentic, *forged))

    def _is_exact(self, documents, left=frozenset()):
        """Whether these are the documents of the moment, each in all its parts; some may be left out."""
        writer = self.moment.writer
        return set(documents) == set(writer.records) - left and all(
            self._fits(found, writer.records[id], writer) for id, found in documents.items())

    def _given(self, owner, what, has_written=False):
        """Every document that dbtool gives out, and the outcome; each document must be allowed."""
        documents, kind = owner.everything()
        if kind not in READING:
            self.find("Exit codes", f"export: {kind}")
        if kind != "ok":
            ids = {str(id) for id in (*self.insider.store.records, *self.insider.forged)}
            found = owner.get(sorted(ids), self.readable)
            for id, (kind_of_one, _) in found.items():
                if kind_of_one not in READING:
                    self.find("Exit codes", f"show {id}: {kind_of_one}")
            documents = {int(id): document for id, (kind_of_one, document) in found.items() if kind_of_one == "ok"}
        for id, found in documents.items():
            if not self._is_allowed(id, found, has_written):
                self.find("Documents", f"{what} gives {id} as {found['text'][:40]!r}, which neither the store of "
                          f"{self.moment.label} vouches for nor its closed epochs")
        return documents, kind

    def _read(self):
        documents, kind = self._given(self.owner, "export")
        if self.verdict == "ok" and not (kind == "ok" and self._is_exact(documents)):
            self.find("Verify", f"sound, and the documents are not those of {self.moment.label} ({kind})")
        kind, output = self.ask(self.owner, "ls", "--json")
        for header in json.loads(output) if kind == "ok" else ():
            found = {"title": header.get("title")}
            if not self._is_allowed(header["id"], found):
                self.find("Documents", f"ls gives {header['id']} as {found}")
        if self.rng.random() < 0.7:
            return
        kind, output = self.ask(self.owner, "query", "SELECT id,title,text,position FROM documents", "--json")
        for row in json.loads(output) if kind == "ok" else ():
            found = {"title": row["title"], "text": row["text"], "pos": row["position"]}
            if not self._is_allowed(row["id"], found):
                self.find("Documents", f"query gives {row['id']} as {row['text'][:40]!r}")
        kind, output = self.ask(self.owner, "collection list", "--json")
        names = {c.name.decode() for moment in self.insider.moments for c in moment.writer.collections.values()}
        for collection in json.loads(output) if kind == "ok" else ():
            if collection["name"] not in names:
                self.find("Collections", f"a name that no key holder gave: {collection['name']!r}")

    def _read_attachments(self):
        writer = self.moment.writer
        known = {file for root, rev, file in self.files if root == self.moment.root and rev <= writer.generation}
        if "files" in self.faults:
            known = set()
        listed, kind = self._listed(self.owner)
        for file in listed - known:
            self.find("Attachments", f"{file} is listed, which the store of {self.moment.label} never had")
        kinds = {kind}
        for document, number, name, digest in sorted(listed):
            kind, content = self.owner.run_bytes("attachment get", str(document), f"#{number}")
            kinds.add(kind)
            if kind not in READING or kind == "ok" and hashlib.sha256(content).hexdigest() != digest:
                self.find("Attachments", f"attachment get {document} #{number} ({name}): {kind}, or another content")
        if self.verdict == "ok" and not (kinds == {"ok"} and listed == self._files_of(writer)):
            self.find("Attachments", f"sound, and the attachments are not those of {self.moment.label}: {kinds} {listed}")

    def _listed(self, owner):
        """The attachments that a store lists, of each document if the whole list fails, and the outcome."""
        lists = [owner.run("attachment ls", "--json")]
        kind = lists[0][0]
        if kind != "ok":
            lists = [owner.run("attachment ls", str(id), "--json") for id in sorted(self.moment.writer.records)]
        for found, _ in lists:
            if found not in READING:
                self.find("Exit codes", f"attachment ls: {found}")
        return {(one["document"], one["number"], one["name"], one["sha256"])
                for found, output in lists if found == "ok" for one in json.loads(output)}, kind

    @staticmethod
    def _files_of(writer):
        return set(map(file_of, writer.attachments.values()))

    def _second_reader(self):
        """Checks that the second reader opens and verifies the file as dbtool does; gives the ids that it reads."""
        second = SecondReader()
        kind = second.open(self.path, *self.secret)
        if (kind == "ok") != bool(self.opened):
            self.find("Readers", f"dbtool: {self.outcome}, second reader: {kind}")
        if kind != "ok":
            return set()
        verdict = second.verify(False)
        if (verdict == "ok") != (self.verdict == "ok"):
            self.find("Readers", f"verify: dbtool {self.verdict}, second reader {verdict}")
        ids = sorted(str(id) for id in self.insider.store.records)
        readable = {id for id, (kind, _) in second.get(ids, ids).items() if kind == "ok"}
        second.close()
        return readable

    # The owner's writes, each on a copy.

    def _copy(self):
        for path in self.folder.glob("copy*"):
            path.unlink()
        copy = self.folder / "copy.coffer"
        shutil.copy(self.path, copy)
        return Owner(self.program).with_key(copy, *self.secret)

    def _write(self):
        acts = [self._resume, self._rekey, self._put, self._remove, self._export, self._salvage]
        weights = [6 if self.moment.writer.target else 0, 2, 1, 1, 1, 2]
        self.rng.choices(acts, weights)[0](self._copy())

    def _session(self):
        owner = self._copy()
        self.now.writer.save(owner.path)
        session = Session(owner, self.path, self.rng)
        self.session = session.go()
        self.findings += session.findings

    def _after(self, owner, what, is_done, changed=()):
        """Checks that a set that differed still differs, and that every document given out is still allowed."""
        verdict, report = self.ask(owner, "verify", "--json")
        if self.verdict == "mismatch" and report and verdict != "mismatch":
            self.find("Verify", f"mismatch became {verdict} by {what}")
        documents, kind = owner.everything()
        if self.verdict != "ok" or not is_done:
            documents, kind = self._given(owner, what, True) if not changed else ({}, kind)
        elif not changed and not (verdict == "ok" and self._is_exact(documents)):
            self.find("Verify", f"sound before {what} and then {verdict}, or with other documents")

    def _keep_out(self, path, sql, what):
        """Checks that, under the present root key, no row sealed from now on is under an epoch of the insider."""
        with sqlite3.connect(path) as db:
            epochs = {epoch for (epoch,) in db.execute(sql)}
        db.close()
        if self.moment.root == self.now.root and epochs & set(self.insider.keys):
            self.find("Changing keys", f"{what}: rows are under the epochs {epochs}, some of which the insider opens")

    def _resume(self, owner):
        pin = self.now.writer.pin_of(self.now.writer.phase + 1) if self.now.writer.target else self.now.writer.pin
        with_pin = ("--pin", pin) if self.rng.random() < 0.5 else ()
        kind, _ = self.ask(owner, "rekey", "--resume", "--json", *with_pin, answers=WRITING)
        if kind == "ok" and self.verdict == "mismatch":
            self.find("Changing keys", "a rekey ended over a set that differs")
        if kind == "ok" and with_pin and self.moment.root != self.now.root:
            self.find("Pin", f"a rekey was resumed under the pin of its end in {self._what()}")
        if kind == "ok":
            self._keep_out(owner.path, EPOCHS, "rekey --resume")
        self._after(owner, "rekey --resume", kind == "ok")

    def _rekey(self, owner):
        kind, _ = self.ask(owner, "rekey", *owner.new_key(NEXT), "--drop-slots", "--json", answers=WRITING)
        if kind == "ok" and self.verdict == "mismatch":
            self.find("Changing keys", "a rekey ended over a set that differs")
        after = Owner(self.program).with_key(owner.path, "key", NEXT)
        if after.run("rekey", "--status")[0] == "cannot-unlock":
            after = owner
        if kind == "ok":
            self._keep_out(owner.path, EPOCHS, "rekey")
        self._after(after, "rekey", kind == "ok")

    def _put(self, owner):
        kind, output = self.ask(owner, "put", "-c", "Notes", "--text", "new", answers=WRITING)
        if kind == "ok":
            self._keep_out(owner.path, f"SELECT epoch FROM coffer_record WHERE id = {int(output)}", "put")
        self._after(owner, "put", kind == "ok", changed=["new"])

    def _remove(self, owner):
        ids = sorted(self.insider.store.records) or [1]
        kind, _ = self.ask(owner, "rm", str(self.rng.choice(ids)), answers=WRITING)
        self._after(owner, "rm", kind == "ok", changed=["gone"])

    def _export(self, owner):
        new = self.folder / "copy-exported.coffer"
        kind, _ = self.ask(
            owner, "copy", str(new), *owner.new_key(NEXT), "--json", answers=WRITING)
        if kind == "ok":
            copy = Owner(self.program).with_key(new, "key", NEXT)
            documents, kind = copy.everything()
            if kind != "ok" or not self._is_exact(documents):
                self.find("Writing", f"copy made a sound store of other documents ({kind})")
            listed, kind = self._listed(copy)
            if kind != "ok" or contents_of(listed) != contents_of(self._files_of(self.moment.writer)):
                self.find("Writing", f"copy made a sound store of other attachments ({kind})")

    def _salvage(self, owner):
        """Salvage keeps rows that closed epochs refuse, and must list them; a set that matches must be the moment's."""
        new = self.folder / "copy-salvaged.coffer"
        kind, output = self.ask(owner, "copy", str(new), "--salvage", *owner.new_key(NEXT), "--json", answers=WRITING)
        if not new.exists():
            return
        report = json.loads(output)
        salvaged = Owner(self.program).with_key(new, "key", NEXT)
        documents, _ = salvaged.everything()
        known = {file for root, _, file in self.files if root == self.moment.root}
        if not set(contents_of(self._listed(salvaged)[0])) <= set(contents_of(known)):
            self.find("Salvage", "attachments come along that the store never had")
        if kind == "ok" and report["set"] != "matches":
            self.find("Salvage", f"done, and the set is {report['set']}")
        left = {document["id"] for document in report["left"]}
        listed = left | {int(number) for number in re.findall(r"document (\d+)", " ".join(report["problems"]))}
        if report["set"] == "matches" and not self._is_exact(documents, left):
            self.find("Salvage", f"the set matches, and the documents are not those of {self.moment.label}")
        for id, found in documents.items():
            writer = self.moment.writer
            rows = [row for row in (*self.versions.get(id, []), *self.insider.forged.get(id, []))
                    if row.epoch in writer.epochs and self._fits(found, row, writer)]
            # An empty document holds the attachments of a lost one.
            if not rows and found["text"]:
                self.find("Salvage", f"{id} comes along as {found['text'][:40]!r}, which no key of the store sealed")
            elif rows and not self._is_allowed(id, found, True) and id not in listed:
                bounds = ", ".join(f"epoch {row.epoch}, rev {row.rev}" for row in rows)
                self.find("Salvage", f"{id} breaks the rules of closed epochs, and isn't listed ({bounds}; target"
                          f" {writer.target}, cursor {writer.cursor})")
