"""The kit as it stands in a directory: the sound stores, the attacks, and what each must come to."""

import json
import shutil
from pathlib import Path

from . import bases, files, headers, insiders, rows, schemas
from .writer import database, document

README = Path(__file__).with_name("README.txt")
MATRIX = (rows, files, headers, schemas, insiders)


class Kit:
    def __init__(self, folder, seed):
        self.folder, self.seed = Path(folder), seed
        self.histories = bases.histories(seed)
        self._made = {}

    def file(self, name, moment):
        """A sound store at a moment of its history, beside the kit's own files while it is made."""
        if (name, moment) not in self._made:
            path = self.folder / "moments" / f"{name}{moment}.coffer"
            path.parent.mkdir(exist_ok=True)
            self.histories[name][moment].save(path)
            self._made[name, moment] = path
        return self._made[name, moment]

    def write(self):
        """Writes everything; gives the names of the attacks."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, history in self.histories.items():
            history[-1].save(self.folder / f"{name}.coffer")
            self._json(name, history[-1].contents())
        (self.folder / "attacks").mkdir(exist_ok=True)
        names = set()
        for attack in self.attacks():
            if attack.name in names:
                raise ValueError(f"two attacks are named {attack.name}")
            names.add(attack.name)
            self._attack(attack)
        shutil.copy(README, self.folder)
        shutil.rmtree(self.folder / "moments", ignore_errors=True)
        return sorted(names)

    def attacks(self):
        for module in MATRIX:
            yield from module.attacks(self)

    def _attack(self, attack):
        path = self.folder / "attacks" / f"{attack.name}.coffer"
        writer = self.histories[attack.base][-1]
        if attack.forge:
            writer = writer.copy()
            attack.forge(writer)
            writer.save(path)
        else:
            shutil.copy(self.folder / f"{attack.base}.coffer", path)
            with database(path) as db:
                attack.edit(db, self)
            if path.read_bytes() == (self.folder / f"{attack.base}.coffer").read_bytes():
                raise ValueError(f"{attack.name} changes nothing")
        expectation = attack.expectation(self)
        if attack.forge:
            expectation |= self._forged(attack, writer)
        self._json(f"attacks/{attack.name}", expectation)

    def _forged(self, attack, writer):
        """A key holder's commit is a newer moment: what is read is what he wrote, where it may be read."""
        if attack.open != "ok":
            return {}
        base, now = self.histories[attack.base][-1].contents()["documents"], {}
        for id, record in writer.records.items():
            if attack.get.get(id, "ok") == "ok":
                try:
                    now[str(id)] = document(writer, record)
                except ValueError:  # what he wrote is no text, no JSON
                    continue
        reads = {id: document for id, document in now.items() if base.get(id) != document}
        reads |= {str(id): document for id, document in attack.reads.items()}
        return {"reads": reads} if reads else {}

    def _json(self, name, content):
        text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=False)
        (self.folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
