"""Records one workload, then rebuilds and judges states of its disk."""

import hashlib
import json
import os
import random
import re
import sqlite3
import subprocess
from pathlib import Path

import harness
from faults import oracle
from faults.exports import text_of
from faults.workloads import STORE
from harness import KEYS

from . import recording, states
from .disk import Disk

NAMES = ("primary", "next")
# SQLite rebuilds the index of the log from the log after a cut.
INDEX = STORE + "-shm"
# Files that an interrupted command leaves: unfinished stores, sealed like this one, and the temporary directory of an
# export to text files. A shell removes the directory after a kill, but a power cut ends the shell too.
BESIDE = re.compile(r"\.(copy|s)\.coffer\.[0-9a-f]{16}\.new(-journal|-wal|-shm)?|\.dbtool-[0-9a-f]{16}")
# One state in this many is also written to.
GOING_ON = 8
# A judge keeps a descriptor for each file in WAL mode that it has ever opened.
JUDGE_LIFE = 400
ROUNDS = 5


class Trial:
    """`forgotten` are kinds of events that the trial drops from the record, as a lying disk would ignore them."""

    def __init__(self, workload, dbtool, judge, recorder, folder, forgotten=()):
        self.workload, self.dbtool, self.recorder = workload, dbtool, recorder
        self.folder, self.outside = Path(folder, "store"), Path(folder, "outside")
        self.state_folder = Path(folder, "state")
        for path in (self.folder, self.outside, self.state_folder):
            path.mkdir()
        self.secrets = oracle.secrets(*NAMES)
        self.judge = Judge([judge, *(KEYS / f"{name}.key" for name in NAMES)])
        self.found_in, self.judged, self.findings = {}, {}, []
        for command in workload.before:
            self.run(command)
        self.first = self.files()
        self.numbers = {name: os.stat(self.folder / name).st_ino for name in self.first}
        self.earlier = {name: _below(name, self.first) for name in workload.outputs}
        self.forgotten = forgotten
        self.events, self.expected = [], [self.look(self.folder / STORE)]
        self.record()

    # Recording.

    def run(self, command, **more):
        environment = harness.environment(SQLITE_TMPDIR=str(self.outside), **more)
        # keygen opens no store, so it has no such option.
        unasked = [] if command[0] == "keygen" else ["--no-input"]
        done = subprocess.run(
            [str(part) for part in [self.dbtool, *command, *unasked]], cwd=self.folder, env=environment,
            input=self.workload.given, capture_output=True, timeout=120)
        if done.returncode:
            raise RuntimeError(f"{self.workload.name}: {command[0]}: {done.stderr.decode().strip()}")

    def record(self):
        log, end = self.outside / "log", 0
        for command in self.workload.commands:
            self.run(
                command, LD_PRELOAD=str(self.recorder), COFFER_WATCH=str(self.folder.resolve()), COFFER_RECORD=str(log))
            events, end = recording.read(log, end)
            self.events += [*events, recording.ACKNOWLEDGED]
            self.expected.append(self.look(self.folder / STORE))
        last = self.files()
        self.outputs = {name: _below(name, last) for name in self.workload.outputs}
        disk = self.disk()
        for event in self.events:
            if event is not recording.ACKNOWLEDGED:
                disk.apply(event)
        there = disk.state(set(disk.pieces()))
        there.pop(INDEX, None)
        if there != last:
            raise RuntimeError(f"{self.workload.name}: the files differ from the record: a change was not seen")
        self.events = [event for event in self.events if event.kind not in self.forgotten]
        if disk.mapped() - {INDEX}:
            raise RuntimeError(f"{self.workload.name}: a file is written through a mapping, which is not recorded")

    def files(self):
        return {
            _name(path, self.folder): b"" if path.is_dir() else path.read_bytes()
            for path in self.folder.rglob("*") if path.name != INDEX}

    def disk(self):
        disk = Disk(self.first)
        for name, number in self.numbers.items():
            disk.know(number, name)
        return disk

    # Judging.

    def go(self, seed, wanted):
        """Judges `wanted` different states, or all that ROUNDS find; gives the counts of states, moments and pieces."""
        chance = random.Random(f"{seed} {self.workload.name}")
        moments = [len(pieces) for _, pieces in states.situations(self.disk(), self.events)]
        for round_number in range(ROUNDS):
            # A moment with few pieces has shown all its states in the first round.
            open_moments = [0 if round_number and count <= states.FEW else count for count in moments]
            shares = states.shares(open_moments, wanted - len(self.judged))
            disk = self.disk()
            for count, share, (acknowledged, pieces) in zip(
                    open_moments, shares, states.situations(disk, self.events)):
                if count or not round_number:
                    self.judge_moment(disk, acknowledged, pieces, share, chance)
            if len(self.judged) >= wanted or not any(open_moments):
                break
        self.judge.end()
        return len(self.judged), len(moments), max(moments)

    def judge_moment(self, disk, acknowledged, pieces, share, chance):
        goal, attempts = len(self.judged) + share, 4 * share + 16
        for chosen, stale in states.choices(pieces, chance):
            self.judge_state(disk.state(chosen, stale), acknowledged, chance)
            attempts -= 1
            if len(self.judged) >= goal or attempts <= 0:
                break

    def judge_state(self, files, acknowledged, chance):
        files.pop(INDEX, None)
        digest = hashlib.sha256(
            b"".join(hashlib.sha256(name.encode() + b"\0" + files[name]).digest() for name in sorted(files))).digest()
        if digest not in self.judged:
            goes_on = chance.randrange(GOING_ON) == 0
            self.judged[digest] = (-1, self.open(files, goes_on) if STORE in files else (None, []))
        before, (found, problems) = self.judged[digest]
        if before >= acknowledged:
            return
        self.judged[digest] = (acknowledged, (found, problems))
        for problem in problems + self.compare(found, files, acknowledged):
            self.findings.append(f"{self.workload.name}: {acknowledged} acknowledged, state {digest.hex()[:12]}: {problem}")

    def open(self, files, goes_on):
        """Opens a state with the library, then with the second reader; gives (keys, documents) and problems."""
        self.lay_out(files)
        path = self.state_folder / STORE
        answer = self.judge.ask("look", path)
        documents = frozenset((found["id"], found.get("title"), found["text"]) for found in answer["documents"])
        keys = frozenset(NAMES[index] for index in answer["keys"])
        problems = list(answer["problems"])
        if not problems and keys:
            second = self.look(path)
            problems += second[2]
            if second[:2] != (keys, documents):
                problems.append("the second reader finds other documents or keys")
        if goes_on and not problems and keys:
            problems += self.judge.ask("go-on", path)["problems"]
        return (keys, documents), problems

    def lay_out(self, files):
        for path in sorted(self.state_folder.rglob("*"), reverse=True):
            if _name(path, self.state_folder) not in files:
                path.rmdir() if path.is_dir() else path.unlink()
        for name in sorted(files):
            path = self.state_folder / name
            # An existing file is overwritten, not replaced: see JUDGE_LIFE.
            path.mkdir(exist_ok=True) if name.endswith("/") else path.write_bytes(files[name])

    def look(self, path):
        """Keys, documents and problems, from the second reader; None if the store does not exist."""
        if not path.exists():
            return None
        connection = sqlite3.connect(path)
        image = hashlib.sha256(connection.serialize()).digest()
        connection.close()
        if image not in self.found_in:
            found = oracle.look(path, self.secrets)
            documents = frozenset((document[0], document[4], text_of(document[5])) for document in found.documents)
            self.found_in[image] = (found.keys, documents, list(found.problems))
        return self.found_in[image]

    def compare(self, found, files, acknowledged):
        """The problems of a state: an acknowledged commit is lost, another one is partial, or a file is half made."""
        problems = []
        old = self.expected[acknowledged]
        new = self.expected[acknowledged + 1] if acknowledged < len(self.workload.commands) else old
        allowed = [expected and expected[:2] for expected in (old, new)]
        if found not in allowed and not (found and self._is_step(found, old, new)):
            keys, documents = found or ((), ())
            problems.append(f"opens with {sorted(keys)}, {len(documents)} documents: neither as before nor as after")
        for name in {path.split("/")[0] for path in files} - set(self.outputs):
            if name.removesuffix("-journal").removesuffix("-wal") != STORE and not BESIDE.fullmatch(name):
                problems.append(f"{name} was left")
        for name, whole in self.outputs.items():
            content = _below(name, files)
            is_done = acknowledged == len(self.workload.commands)
            if content == whole or not is_done and (self.workload.is_made_in_place or content == self.earlier[name]):
                continue
            problems.append(f"{name} is {'half done, or an earlier one' if content else 'not there'}")
        return problems

    def _is_step(self, found, old, new):
        """Whether a command added only the first of its documents."""
        if not self.workload.commits_in_steps or found[0] != new[0]:
            return False
        added = sorted(new[1] - old[1])
        return any(found[1] == old[1] | set(added[:count]) for count in range(len(added) + 1))


def _name(path, folder):
    """The path as Disk names it."""
    return f"{path.relative_to(folder)}{'/' if path.is_dir() else ''}"


def _below(name, files):
    """The entries at a name and below it."""
    return {path: content for path, content in files.items() if path.split("/")[0] == name}


class Judge:
    """A process coffer-reopen, started again after JUDGE_LIFE questions and after a crash."""

    def __init__(self, command):
        self.command, self.process, self.asked = command, None, 0

    def ask(self, what, path):
        if self.asked % JUDGE_LIFE == 0:
            self.end()
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.asked += 1
        self.process.stdin.write(f"{what} {path}\n")
        self.process.stdin.flush()
        if line := self.process.stdout.readline():
            return json.loads(line)
        _, errors = self.process.communicate()
        self.asked, self.process = 0, None
        return {"keys": [], "documents": [], "problems": ["it crashes: " + (errors.strip().splitlines() or ["?"])[0]]}

    def end(self):
        if self.process:
            self.process.communicate()
            self.process = None
