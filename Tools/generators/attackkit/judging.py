"""Compares a reader with the kit: its results for each store must be those in the JSON beside the store."""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

from .layout import IS_VALUE


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def verdicts(reader):
    return {"verify": reader.verify(False), "verify_quick": reader.verify(True)}


class Judge:
    """Compares one reader's results for one store. `differences` collects sentences."""

    def __init__(self, folder, stores, name, reader, asks_all=True):
        """`folder` holds the expectations, `stores` the attacked stores; they differ for published vectors."""
        self.folder, self.stores, self.name = Path(folder), Path(stores), name
        self.reader, self.asks_all, self.differences, self.base = reader, asks_all, [], None

    def said(self):
        return [f"{self.reader.name}: {self.name}: {difference}" for difference in self.differences]

    def expect(self, what, found, wanted, also=()):
        accepted = [wanted, *also]
        is_error = found not in ("ok", None)
        if not (found in accepted or found == "damaged" and "refused" in accepted or is_error and "error" in accepted):
            self.differences.append(f"{what}: {found!r}, expected {' or '.join(map(repr, accepted))}")

    # Sound stores.

    def sound(self):
        self.expected = load(self.folder / f"{self.name}.json")
        path = self.folder / f"{self.name}.coffer"
        before = path.read_bytes()
        if self._lacks_features(path):
            return self.said()
        for secret, value in self.expected["open_with"].items():
            is_first = secret == next(iter(self.expected["open_with"]))
            self._open(
                f"open by {secret}", "cannot-unlock" if secret.startswith("wrong") else "ok", path, secret, value,
                then=self._contents if is_first else None)
            self._open(f"open by {secret}, TEST not allowed", "refused", path, secret, value, allow_test=False)
        self._pins(path, {"pin": self.expected["pin"], "open": "ok"})
        if "final_pin" in self.expected:
            self._pins(path, {"pin": self.expected["final_pin"], "open": "unfinished"})
        self._publishers(path)
        if path.read_bytes() != before:
            self.differences.append("reading changed the file")
        return self.said()

    def _open(self, what, wanted, path, *secret, also=(), then=None, **options):
        """Opens a store, and calls `then` if that succeeds."""
        found = self.reader.open(path, *secret, **options)
        self.expect(what, found, wanted, also)
        if found == "ok":
            if then:
                then()
            self.reader.close()

    def _lacks_features(self, path):
        """Whether the reader has not all features of the store, which it must then not open."""
        if self.reader.FEATURES.issuperset(self.expected.get("features", ())):
            return False
        self._open("open without the features", "newer", path, *self._opener(), also=["refused"])
        return True

    def _contents(self):
        expected, reader = self.expected, self.reader
        if hasattr(reader, "contents"):
            for member, value in reader.contents().items():
                self.expect(member, value, expected[member])
        outcomes = {id: "ok" for id in expected["documents"]} | {str(id): "newer" for id in expected["newer"]}
        self._documents(outcomes, expected["documents"])
        titles, found = reader.list()
        self.expect("list", found, expected["list"])
        self._titles(titles, expected["documents"])
        stored, places = _by_number(expected["attachments"])
        newer = dict.fromkeys(map(str, expected["newer_attachments"]), "newer")
        # A list ends at a newer attachment, and the JSON doesn't say whose it is.
        if reader.FINDS_BY_NUMBER or not newer:
            lists = {} if newer else dict.fromkeys(expected["attachments"], "ok")
            self._attached(dict.fromkeys(stored, "ok") | newer, stored, places, lists)
        for kind, found in verdicts(reader).items():
            self.expect(kind, found, expected["verify"])
        self.expect("anchor", reader.anchor(expected["anchor"]), expected["anchor_check"])
        if hasattr(reader, "find"):
            for lookup in expected["lookups"]:
                self.expect(f"lookup of {lookup['key']}", reader.find(lookup["coll"], lookup["key"]), lookup["id"])

    def _documents(self, outcomes, documents, also=None):
        readable = {id for id, kind in outcomes.items() if kind in ("ok", "other")}
        for id, (found, document) in self.reader.get(list(outcomes), readable).items():
            wanted = "ok" if outcomes[id] == "other" else outcomes[id]
            self.expect(f"get {id}", found, wanted, (also or {}).get(f"get_of_{id}", ()))
            if found == "ok" and id in documents:
                self._compare(id, document, documents[id])

    def _compare(self, id, found, stored):
        for member, value in found.items():
            if member == "text" and "text_sha256" in stored:
                member, value = "text_sha256", hashlib.sha256(value.encode()).hexdigest()
            wanted = bool(stored["flags"] & IS_VALUE) if member == "json" else stored[member]
            if member == "attributes" and not isinstance(value, str):  # the command gives them parsed
                wanted = json.loads(wanted) if wanted else None
            if wanted != value:
                self.differences.append(f"document {id}: {member} differs")

    def _attached(self, outcomes, stored, places, lists, parts=()):
        """Compares attachments: each one's content, the lists of documents, and parts."""
        self._attachments(outcomes, stored, places, lists)
        self._attachment_lists(lists)
        if hasattr(self.reader, "attachment_part"):
            self._attachment_parts(parts)

    def _attachments(self, outcomes, stored, places, lists):
        """`places` are the documents of attachments. A command finds an attachment by its document's list, and a changed
        column, index or count can hide it there until verify runs."""
        may_hide = ["missing"] * (not self.reader.FINDS_BY_NUMBER and self.expected["verify"] != "ok")
        for number, wanted in outcomes.items():
            if not self.reader.FINDS_BY_NUMBER:
                if number not in places:
                    continue
                is_listed = lists.get(places[number], "ok") == "ok"
                wanted = wanted if is_listed else lists[places[number]]
            found, kind = self.reader.attachment(int(number), (places.get(number), stored.get(number)))
            self.expect(f"get attachment {number}", kind, wanted, [*self._also(f"get_attachment_{number}"), *may_hide])
            if kind == "ok" and found != (stored[number], stored[number]["sha256"]):
                self.differences.append(f"attachment {number} differs")

    def _attachment_lists(self, outcomes):
        for id, wanted in outcomes.items():
            kind = self.reader.attachments(int(id))[1]
            also = [] if self.reader.FINDS_BY_NUMBER or id in (self.base or self.expected)["documents"] else ["missing"]
            self.expect(f"list attachments of {id}", kind, wanted, [*self._also(f"list_attachments_{id}"), *also])

    def _attachment_parts(self, parts):
        for part in parts:
            what = part["attachment"], part["start"], part["end"]
            found, kind = self.reader.attachment_part(*what)
            self.expect(f"part {what} of an attachment", kind, part["outcome"])
            if kind == "ok" and found != part["end"] - part["start"]:
                self.differences.append(f"part {what} of an attachment has {found} bytes")

    def _also(self, field):
        return self.expected.get("also_acceptable", {}).get(field, ())

    def _titles(self, titles, documents):
        for id, title in (titles or {}).items():
            if id in documents and documents[id]["title"] != title:
                self.differences.append(f"list: the title of {id} differs")

    def _pins(self, path, *cases):
        for case in cases:
            self._open(f"open with {case['pin'][:40]}…", case["open"], path, *self._opener(), pin=case["pin"])

    def _publishers(self, path):
        for line, wanted in self.expected.get("publishers", {}).items():
            self._open(f"open for {line[:40]}…", wanted, path, *self._opener(), publisher=line)

    def _opener(self):
        pairs = self.expected.get("opener") or self.expected["open_with"]
        return next(iter(pairs.items()))

    # Attacks.

    def attack(self):
        self.expected = load(self.folder / "attacks" / f"{self.name}.json")
        self.base = load(self.folder / f"{self.expected['base']}.json")
        if self.expected.get("directory"):
            self._folder()
        else:
            self._file(self.stores / f"{self.name}.coffer")
        return self.said()

    def _file(self, path):
        attack, also = self.expected, self.expected.get("also_acceptable", {})
        before = path.read_bytes()
        if self._lacks_features(path):
            return
        for secret, wanted in attack.get("open_by", {}).items():
            value = (self.base["open_with"] | attack.get("secrets", {}))[secret]
            self._open(f"open by {secret}", wanted, path, secret, value, also=also.get("open_by", ()))
        self._open(
            "open", attack["open"], path, *self._opener(), also=also.get("open", ()),
            then=(lambda: self._opened(attack, also)) if attack["open"] == "ok" else None)
        self._pins(path, *attack.get("pins", ()))
        self._publishers(path)
        if path.read_bytes() != before:
            self.differences.append("reading changed the file")

    def _opened(self, attack, also):
        other = load(self.folder / "other.json")["documents"]
        documents = {
            id: (other if attack["get"].get(id) == "other" else self.base["documents"]).get(id)
            for id in attack["get"]} | attack.get("documents", {})
        documents = {id: document for id, document in documents.items() if document}
        self._documents(attack["get"], documents, also)
        titles, found = self.reader.list()
        # A list may compare the number of rows at its end.
        may_mismatch = attack["verify"] != "ok"
        self.expect("list", found, attack["list"], [*also.get("list", ()), *["mismatch"] * may_mismatch])
        self._titles(titles, documents)
        if "get_attachments" in attack:
            stored, places = _by_number(self.base["attachments"])
            self._attached(
                attack["get_attachments"], stored | attack.get("attachments", {}), places, attack["list_attachments"],
                attack.get("attachment_parts", ()))
        self.expect("verify", self.reader.verify(False), attack["verify"], also.get("verify", ()))
        # Each of these takes a process of dbtool: the short run skips those that would give no other answer.
        if self.asks_all or attack["verify_quick"] != attack["verify"]:
            self.expect("verify_quick", self.reader.verify(True), attack["verify_quick"], also.get("verify_quick", ()))
        if self.asks_all or attack["anchor"] != "ok":
            self.expect("anchor", self.reader.anchor(attack["anchor_line"]), attack["anchor"], also.get("anchor", ()))
        for case in attack.get("anchors", ()):
            pin = case.get("pin")
            what = f"anchor {case['anchor'].split(':', 5)[2:5]}{' with a pin' if pin else ''}"
            self.expect(what, self.reader.anchor(case["anchor"], pin=pin), case["verdict"])
            self.expect(f"{what}, descent proved", self.reader.anchor(case["anchor"], True, pin), case["descends"])
        for text, ids in attack.get("searches", {}).items() if hasattr(self.reader, "search") else ():
            kind, found = self.reader.search(text)
            is_less = "missing" in also.get("searches", ()) and found == [id for id in ids if id in found]
            if kind not in ("ok", "exit 4") or found != ids and not is_less:
                self.differences.append(f"search for {text!r}: {kind}, {found}, expected {ids}")
        if "put" in attack:
            self.expect("put", self.reader.put(), attack["put"], also.get("put", ()))

    def _folder(self):
        """Works on a copy of the folder: a reader may roll back, and links stay inside the copy."""
        attack = self.expected
        with tempfile.TemporaryDirectory(prefix="coffer-plant-") as name:
            folder = Path(name, self.name)
            copy_folder(self.stores / self.name, folder)
            before = _snapshot(folder)
            path = folder / attack["store"]
            also = attack.get("also_acceptable", {})

            def read():
                self._documents(attack["get"], self.base["documents"], also)
                self.expect("verify", self.reader.verify(False), attack["verify"], also.get("verify", ()))

            self._open(
                "open", attack["open"], path, *self._opener(), also=also.get("open", ()),
                then=read if attack["open"] == "ok" else None)
            self._unchanged(folder, before, attack)
            if attack["after"]:
                for plant in attack["plants"]:
                    _remove(folder / plant)
                self._open(
                    "open without the plants", attack["after"], path, *self._opener(), also=also.get("after", ()),
                    then=lambda: self.expect("verify without the plants", self.reader.verify(False), "ok"))

    def _unchanged(self, folder, before, attack):
        after = _snapshot(folder)
        for name, content in before.items():
            if attack["may_change"] and name.startswith(attack["store"]):
                continue
            if after.get(name) != content:
                self.differences.append(f"{name}: {'changed' if name in after else 'deleted'}")


def _by_number(by_document):
    """The attachments by number, and their documents."""
    pairs = [(id, one) for id, rows in by_document.items() for one in rows]
    return {str(one["number"]): one for _, one in pairs}, {str(one["number"]): id for id, one in pairs}


def copy_folder(source, target):
    """Copies a folder with its links and pipes; a hard link remains a hard link."""
    target.mkdir()
    copied = {}
    for path in sorted(source.iterdir()):
        status, place = path.lstat(), target / path.name
        if path.is_symlink():
            os.symlink(os.readlink(path), place)
        elif path.is_fifo():
            os.mkfifo(place)
        elif path.is_dir():
            place.mkdir()
        elif status.st_ino in copied:
            os.link(copied[status.st_ino], place)
        else:
            shutil.copyfile(path, place)
            copied[status.st_ino] = place


def _snapshot(folder):
    found = {}
    for path in folder.iterdir():
        is_file = path.is_file() and not path.is_symlink()
        found[path.name] = path.read_bytes() if is_file else path.lstat().st_mode
    return found


def _remove(path):
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
