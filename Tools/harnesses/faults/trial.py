"""Runs one workload with one fault after another, and judges each result."""

import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import harness

from . import calls, oracle, workloads
from .calls import Fault, Runner

# The exit codes that a failing disk may lead to: done, or failed with a message.
DOCUMENTED = (0, 1)
# The calls by which dbtool itself has the disk confirm a file that it makes; SQLite calls fdatasync.
OURS = ("fsync", "syncfs")
BESIDE = {workloads.STORE + suffix for suffix in ("", "-journal", "-wal", "-shm")}
# The unfinished file that a kill leaves if the file system lacks unnamed files, see Commands.md.
UNFINISHED = re.compile(r"\.dbtool-[0-9a-f]{16}")
# The stores that a restore keeps. After a kill, one may be the finished copy under the kept store's name.
REPLACED = re.compile(re.escape(workloads.STORE) + r"\.replaced(-\d+)?(-journal|-wal)?")
# The seconds within which a folder of an ended command must be wiped.
WIPED_AFTER = 10


class Trial:
    """One workload: its store, the write-like calls of its command, and the result of a complete run."""

    def __init__(self, workload, dbtool, folder, refusing):
        """`refusing` is the library that refuses files without a name."""
        self.workload, self.dbtool, self.refusing = workload, dbtool, refusing
        self.secrets = oracle.secrets("primary", "next", "phrase")
        self.folder = Path(folder, workload.name)
        self.base = self.folder / "base"
        self.base.mkdir(parents=True)
        (self.folder / workloads.INPUT[3:]).write_bytes(workloads.lines(workloads.MORE))
        with self.runner(self.base) as runner:
            workloads.prepare(workload, dbtool, runner)
        self.before = self.look(self.base)
        self.earlier = {name: self.output(self.base / name) for name in workload.outputs}
        whole = self.copy("whole")
        with self.runner(whole) as runner:
            self.points, done = runner.points(self.command)
            if done.returncode:
                raise RuntimeError(f"{workload.name}: {done.stderr.decode().strip()}")
            if workload.is_named and ("linkat", 1) in self.points:
                raise RuntimeError(f"{workload.name}: a file without a name was not refused")
            self.after = self.look(whole)
            self.outputs = {name: self.output(whole / name) for name in workload.outputs}
            problems = self.judge(runner, True, "a whole run")
        if problems or self.before.problems:
            raise RuntimeError(f"{workload.name}: {problems or self.before.problems}")
        again = self.copy("timed")
        with self.runner(again) as runner:
            started = time.monotonic()
            runner.plain(self.command)
            self.seconds = time.monotonic() - started
        for folder in (whole, again):
            shutil.rmtree(folder)

    @property
    def command(self):
        return [self.dbtool, *self.workload.command, "--no-input"]

    def runner(self, folder):
        refused = {"LD_PRELOAD": str(self.refusing), "COFFER_NO_UNNAMED": "1"} if self.workload.is_named else {}
        return PrivateRunner(folder, self.workload.variables | refused)

    def copy(self, name):
        return Path(shutil.copytree(self.base, self.folder / name))

    def look(self, folder):
        return oracle.look(folder / workloads.STORE, self.secrets)

    def output(self, path):
        if path.suffix != ".coffer":
            return oracle.contents(path)
        found = oracle.look(path, self.secrets)
        return (found.keys, found.documents, found.problems) if found.is_there else None

    # Faults.

    def errors(self):
        """A failure of the disk at every point: once, and from then on."""
        for call, number in self.points:
            yield from (Fault(call, number, calls.error_of(call), lasts) for lasts in (False, True))

    def run(self, number, fault, again):
        """Runs the command with a fault, a retry with the fault `again` if given, and a last retry; gives findings."""
        folder = self.copy(str(number))
        with self.runner(folder) as runner:
            try:
                findings = self._run(runner, fault, again)
            except (OSError, subprocess.TimeoutExpired) as error:
                findings = [f"{fault}: {error}"]
        shutil.rmtree(folder)
        return [f"{self.workload.name}: {finding}" for finding in findings]

    def _run(self, runner, fault, again):
        findings, command, struck = [], self.command, []
        for fault in (fault, again) if again else (fault,):
            done = fault.strike(runner, command)
            struck.append(str(fault))
            when = ", then ".join(struck)
            findings += self.said(done, fault)
            found = self.look(runner.folder)
            findings += self.judge(runner, done.returncode == 0, when, found)
            if (rest := self.rest(runner, found)) is None:
                break
            command = [self.dbtool, *rest, "--no-input"]
        else:
            done = runner.plain(command)
            if done.returncode:
                findings.append(f"{when}: the retry did not complete: {done.stderr.decode().strip()}")
            findings += self.judge(runner, True, f"{when}, the end")
        key = next(name for name in ("primary", "next", "phrase") if name in self.workload.keys[-1])
        key = {"primary": workloads.PRIMARY, "next": workloads.NEXT, "phrase": workloads.PHRASE}[key]
        done = runner.plain([self.dbtool, "verify", workloads.STORE, *key, "--no-input"])
        if done.returncode:
            findings.append(f"{when}: verify: exit {done.returncode}: {done.stderr.decode().strip()}")
        return findings

    def rest(self, runner, found):
        """The command that completes the work after a fault; None if nothing is left to do."""
        if found.keys != self.workload.keys[-1] or not self.is_finished(found):
            return self.workload.command
        if any(self.output(runner.folder / name) != whole for name, whole in self.outputs.items()):
            return self.workload.command
        return self.workload.resume if found.target or self.workload.resume and found.epochs > 1 else None

    # Judging.

    def said(self, done, fault):
        allowed = (calls.KILLED, 0, *self.workload.killed) if fault.is_kill else DOCUMENTED
        if not fault.is_kill and self.workload.outputs and fault.call in OURS and done.returncode == 0:
            return [f"{fault}: done, and the disk had not confirmed it"]
        if done.returncode in allowed:
            return []
        return [f"{fault}: exit {done.returncode}: {done.stderr.decode().strip()}"]

    def undated(self, found):
        return found.undated({document[0] for document in self.before.documents})

    def is_finished(self, found):
        return self.undated(found) == self.undated(self.after)

    def is_whole(self, found):
        """Whether the store is as before the command, as after it, or as after its first transactions."""
        if not found.is_there:
            return not self.workload.is_made
        if self.is_finished(found) or found.documents == self.before.documents and self.workload.is_made:
            return True
        known = {document[0] for document in self.before.documents}
        added = [document for document in self.undated(self.after) if document[0] not in known]
        present = len(found.documents) - len(known)
        if self.workload.is_made and not self.workload.is_in_batches:
            return False
        # A store that the command itself makes is empty at first; a command in batches adds documents in their order.
        present = present if self.workload.is_in_batches else 0
        return self.undated(found) == tuple(sorted([*self.before.documents, *added[:present]]))

    def judge(self, runner, is_done, when, found=None):
        folder = runner.folder
        found = found or self.look(folder)
        findings = list(found.problems)
        if found.is_there and found.keys not in self.workload.keys:
            findings.append(f"opens with {sorted(found.keys)}")
        if not self.is_whole(found):
            findings.append(f"{len(found.documents)} documents of {len(self.before.documents)}, or others")
        is_last = found.keys == self.workload.keys[-1]
        if is_done and not (is_last and self.is_finished(found) and found.target == 0 and found.epochs == 1):
            findings.append("acknowledged, but not there")
        if found.is_there and found.keys in self.workload.keys:
            if found.titles != self.workload.titles[is_last and -1 or 0]:
                findings.append(f"titles are {found.titles}")
        for name, whole in self.outputs.items():
            if (output := self.output(folder / name)) != whole and (is_done or output != self.earlier[name]):
                findings.append(f"{name} is {'missing' if output is None else 'half done, or an earlier one'}")
        # A file may stay if its removal fails. A kill during the removal is no excuse.
        can_remove = not ("unlink" in when and any(error in when for error in ("EIO", "ENOSPC")))
        findings += self.left(runner, "SIGKILL" in when) if can_remove else []
        return [f"{when}: {finding}" for finding in findings]

    def left(self, runner, was_killed):
        """Finds files that should not be there, and plaintext outside of the files that the command was asked for."""
        expected = BESIDE | set(self.workload.outputs)
        if self.workload.reads:
            expected |= {self.workload.reads + suffix for suffix in ("", "-wal", "-shm")}
        expected |= {path.name for path in runner.folder.iterdir() if REPLACED.fullmatch(path.name)}
        if self.workload.is_named and was_killed:
            expected |= {path.name for path in runner.folder.iterdir() if UNFINISHED.fullmatch(path.name)}
        for path in runner.folder.iterdir():
            # A killed process may leave an unfinished new store: everything in it is sealed.
            if path.name not in expected and ".new" not in path.name and not runner.is_bare(path):
                yield f"{path.name} was left"
        phrases = [workloads.IN_TEXTS] + [workloads.IN_TITLES] * ("clear" not in self.workload.titles)
        for shown in oracle.showing(runner.folder, phrases, expected - BESIDE):
            yield f"{shown} shows what is sealed"
        for place in runner.places:
            # An edit keeps a text that can't be stored, in memory, and says where.
            is_kept = self.workload.command[0] == "edit" and any(place.glob("dbtool-unsaved-*"))
            if not is_kept and not runner.is_bare(place):
                yield f"{[path.name for path in place.rglob('*')]} was left in {place.name}"


class PrivateRunner(Runner):
    """A runner with private temporary folders, so that the trial finds every file that a command leaves there."""

    def __init__(self, folder, variables):
        self.parent = tempfile.mkdtemp(dir=folder.parent)
        memory = tempfile.mkdtemp(prefix="coffer-faults-", dir=harness.MEMORY or self.parent)
        self.places = [Path(self.parent), Path(memory)]
        temporary = {"TMPDIR": self.parent, "SQLITE_TMPDIR": self.parent, "XDG_RUNTIME_DIR": memory}
        super().__init__(harness.environment(**temporary, **variables), folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for place in self.places:
            shutil.rmtree(place, ignore_errors=True)

    def is_bare(self, path):
        """Whether all files at a path are empty or gone; waits for a folder that is still being wiped."""
        return _soon(lambda: not any(each.is_file() and each.stat().st_size for each in (path, *path.rglob("*"))))


def _soon(condition):
    end = time.monotonic() + WIPED_AFTER
    while time.monotonic() < end:
        try:
            if condition():
                return True
        except OSError:
            pass  # A file was removed during the check.
        time.sleep(0.02)
    return False
