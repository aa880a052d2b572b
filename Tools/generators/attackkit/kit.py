"""Writes the kit as a directory: the sound stores, the attacks, and the required results of each."""

import json
import shutil
from pathlib import Path

from . import (
    attachmentattacks, attachmentchunks, attachmentinsiders, expressions, extensions, files, headers, indexattacks, insiders,
    mergeattacks, plants, rekeys, releases, rows, sametag, schemas, states, stores)
from .contents import attachment, contents, document
from .primitives import lines, primitives
from .sessions import SESSIONS
from .storefile import database

SEED = "format 3"
README = Path(__file__).with_name("README.txt")
MATRIX = (
    rows, files, headers, schemas, expressions, insiders, mergeattacks, extensions, states, rekeys, sametag, indexattacks,
    attachmentattacks, attachmentinsiders, attachmentchunks, releases)


class Kit:
    def __init__(self, folder, seed):
        self.folder, self.seed = Path(folder), seed
        self.histories = stores.histories(seed)
        self.stores = {name: list(history.values())[-1] for name, history in self.histories.items()}
        self.stores |= stores.shapes(seed, self.histories)
        self._made = {}

    def base(self, name):
        return self.stores[name]

    def file(self, name, moment):
        """The file of a sound store at a moment of its history, beside the kit's own files while the kit is made."""
        if (name, moment) not in self._made:
            path = self.folder / "moments" / f"{name}-{moment}.coffer"
            path.parent.mkdir(exist_ok=True)
            self.histories[name][moment].save(path)
            self._made[name, moment] = path
        return self._made[name, moment]

    def write(self, is_wanted=lambda attack: True, left_out=()):
        """Writes the sound stores, but those left out, and the wanted attacks; gives the names of these attacks."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, writer in self.stores.items():
            if name not in left_out:
                writer.save(self.folder / f"{name}.coffer")
                self._json(name, contents(name, writer))
        (self.folder / "attacks").mkdir(exist_ok=True)
        names = set()
        for attack in self.attacks():
            if attack.name in names:
                raise ValueError(f"two attacks are named {attack.name}")
            if is_wanted(attack):
                names.add(attack.name)
                self._attack(attack)
        for plant in plants.plants():
            if is_wanted(plant):
                names.add(plant.name)
                self._json(f"attacks/{plant.name}", plants.write(plant, self, self.folder / "attacks" / plant.name))
        self._json("primitives", primitives(), indent=1)
        self._json("lines", lines(self.base("sealed")))
        self._json("session-attacks", SESSIONS)
        shutil.copy(README, self.folder)
        shutil.rmtree(self.folder / "moments", ignore_errors=True)
        return sorted(names)

    def attacks(self):
        for module in MATRIX:
            yield from module.attacks(self)

    def _attack(self, attack):
        path = self.folder / "attacks" / f"{attack.name}.coffer"
        base = self.folder / f"{attack.base}.coffer"
        writer = self.base(attack.base)
        if attack.forge:
            writer = writer.copy()
            attack.forge(writer)
            writer.save(path)
        else:
            shutil.copy(base, path)
            if attack.patch:
                attack.patch(path, self)
            else:
                with database(path) as db:
                    attack.edit(db, self)
        if path.read_bytes() == base.read_bytes():
            raise ValueError(f"{attack.name} changes nothing")
        expectation = attack.expectation(self)
        documents = expectation.get("documents", {})
        if attack.forge and attack.open == "ok":
            documents = self._forged(attack, writer) | documents
        if documents:
            expectation["documents"] = documents
            expectation["reads"] = {id: document["text"] for id, document in documents.items() if "text" in document}
        if attack.forge and attack.open == "ok" and "get_attachments" in expectation:
            attachments = self._forged_attachments(attack, writer) | expectation.get("attachments", {})
            if attachments:
                expectation["attachments"] = attachments
        self._json(f"attacks/{attack.name}", expectation)

    def _forged(self, attack, writer):
        """The readable documents that differ from the base: the commit of a key holder is a newer moment."""
        base, now = contents(attack.base, self.base(attack.base))["documents"], {}
        for id, record in writer.records.items():
            if attack.get.get(id, "ok") == "ok":
                try:
                    now[str(id)] = document(writer, record)
                except ValueError:  # no text
                    continue
        return {id: document for id, document in now.items() if base.get(id) != document}

    def _forged_attachments(self, attack, writer):
        """The readable attachments that differ from the base, too."""
        base, now = self.base(attack.base), {}
        for number, row in writer.attachments.items():
            if attack.attachments.get(number, "ok") == "ok":
                before = base.attachments.get(number)
                now[str(number)] = attachment(writer, row), before and attachment(base, before)
        return {number: one for number, (one, before) in now.items() if one != before}

    def _json(self, name, content, indent=None):
        text = json.dumps(content, ensure_ascii=False, indent=indent) + "\n" if indent else _text(content)
        (self.folder / f"{name}.json").write_text(text, encoding="utf-8")


def _text(content):
    """JSON with one line for each member, or element, of the outermost object or array."""

    def line(value):
        return json.dumps(value, ensure_ascii=False)

    if isinstance(content, list):
        return "[\n" + ",\n".join(f" {line(value)}" for value in content) + "\n]\n"
    return "{\n" + ",\n".join(f" {line(name)}: {line(value)}" for name, value in content.items()) + "\n}\n"
