"""The sides that do the same works: ours, plain SQLite from C, other SQLites through Python packages, and files.

Does: builds or installs each, and runs works on files in the bench's folder, a process for each. A missing side is
reported with its reason. Knows: packages, keys, settings. Does not know: what the times are compared with.
"""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[1]
ROOT = TOOLS.parent
BENCHMARKS = TOOLS / "packages" / "Benchmarks"
SERVERS = TOOLS / "packages" / "Servers"
KEY_FILE = ROOT / "Keys" / "primary.key"

RAW_KEY, NEXT_RAW_KEY = "5c" * 32, "a7" * 32
DURABLE = {"journal_mode": "delete", "synchronous": "3", "memory_statistics": "0"}
TUNED = {**DURABLE, "cache_size": "-65536", "page_size": "4096", "secure_delete": "1", "temp_store": "2"}
EXPECTED = {"64": TUNED, "default": DURABLE}


class Missing(Exception):
    """The reason why a side is missing."""


class Side:
    def __init__(self, bench, name, label):
        self.bench, self.name, self.label = bench, name, label

    def timed(self, work, shape, count, cache):
        """Wall and CPU seconds of a work on a store of that shape."""
        file = self.start(work.start, shape, cache)
        if not work.is_unchanged:
            copy = self.bench.folder / f"work.{self.name}"
            if file:
                shutil.copyfile(file, copy)
            file = copy
        # Without this, the work would share the disk with pending writes of the previous work.
        os.sync()
        command = self.command(self.work_name(work), file, shape, count, cache, work.titles)
        done = self.bench.run(command, self.environment)
        if not work.is_unchanged:
            file.unlink()
        return tuple(float(part) for part in done.stdout.split())

    def start(self, start, shape, cache):
        """The full store that a work starts from, made once."""
        if start == "none":
            return None
        file = self.bench.folder / f"{start}-{shape.documents}-{shape.text_bytes}-{shape.collections}.{self.name}"
        if not file.exists():
            titles = "clear" if start == "clear" else "sealed"
            maker = "insert" if start == "clear" else start
            self.bench.run(self.command(maker, file, shape, shape.documents, cache, titles), self.environment)
        return file

    def settings(self, cache):
        return {}

    environment = {}


class Ours(Side):
    def __init__(self, bench):
        super().__init__(bench, "coffer", "Coffer")
        self.program = built("--package-path", BENCHMARKS) / "coffer-bench"

    def work_name(self, work):
        return work.ours

    def command(self, work, file, shape, count, cache, titles):
        return [self.program, work, file, count, titles, shape.text_bytes, shape.collections, cache]

    def hear(self, shape):
        """CPU seconds of noticing that another process changed 100 documents."""
        file = self.start("insert", shape, "64")
        command = self.command("changes", file, shape, 100, "64", "sealed")
        listener = subprocess.Popen(
            [str(part) for part in command], env=self.bench.environment, stdout=subprocess.PIPE, text=True)
        with listener:
            try:
                listener.stdout.readline()
                self.bench.run(self.command("update-new", file, shape, 100, "64", "sealed"))
                answer, _ = listener.communicate(timeout=60)
            finally:
                listener.kill()
        if listener.returncode != 0:
            sys.exit("bench: the listener failed")
        return tuple(float(part) for part in answer.split())


class SQLite(Side):
    """Plain tables; `works.c` does the works."""

    is_encrypted = False

    def work_name(self, work):
        return work.plain

    def settings(self, cache):
        """The settings as a connection reads them back; ends the bench if one differs."""
        file = self.bench.folder / f"settings.{self.name}"
        command = self.command("settings", file, None, 0, cache, "")
        words = self.bench.run(command, self.environment).stdout.rstrip("\n").split("\t")
        read = dict(word.split("=", 1) for word in words)
        wrong = {name: read.get(name) for name, value in EXPECTED[cache].items() if read.get(name) != value}
        if wrong:
            sys.exit(f"bench: {self.label} did not take its settings: {wrong}")
        return read

    def check_file(self, shape):
        """Ends the bench if an encrypted file shows titles and texts, or a plain one does not."""
        file = self.start("insert", shape, "64")
        data = file.read_bytes()
        shown = [part for part in (b"SQLite format 3\0", b"Document number", b"CREATE TABLE") if part in data]
        if len(shown) != (0 if self.is_encrypted else 3):
            sys.exit(f"bench: the file of {self.label} shows {shown}")
        return not shown


class Plain(SQLite):
    def __init__(self, bench):
        super().__init__(bench, "plain", "plain SQLite")
        self.program = bench.folder / "plain"
        compile("works.c", self.program, "-lsqlite3")

    def command(self, work, file, shape, count, cache, titles):
        text_bytes, collections = (shape.text_bytes, shape.collections) if shape else (1024, 1)
        return [self.program, work, file, count, text_bytes, collections, cache]

    def sql(self):
        """The SQL of each work by its name."""
        return dict(line.split("\t") for line in self.bench.run([self.program, "sql"]).stdout.splitlines())


class Files:
    """Plain files, each with a text. System calls of this process write and read them."""

    part = 256 << 10

    def __init__(self, bench):
        self.folder = bench.folder / "files"

    def timed(self, work, shape, count):
        """Wall and CPU seconds of reading the files, or of writing them until the disk has confirmed all."""
        if not work.is_unchanged:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
        block, buffer = random.Random(1).randbytes(shape.text_bytes + count), bytearray(self.part)
        os.sync()
        wall, cpu = time.monotonic(), time.process_time()
        for number in range(count):
            if work.is_unchanged:
                with open(self.folder / str(number), "rb", buffering=0) as file:
                    while file.readinto(buffer):
                        pass
            else:
                with open(self.folder / str(number), "wb", buffering=0) as file:
                    file.write(memoryview(block)[number:number + shape.text_bytes])
        for path in () if work.is_unchanged else (*self.folder.iterdir(), self.folder):
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
        return time.monotonic() - wall, time.process_time() - cpu


class Peer(SQLite):
    """Another SQLite, in a Python package that loads the works."""

    def __init__(self, bench, name, label, package, module, key="", rekey=""):
        super().__init__(bench, name, label)
        self.module, self.key, self.next_key = module, key, rekey
        self.is_encrypted = bool(key)
        self.python = environment_of(bench.folder) / "bin" / "python"
        self.extension = bench.folder / "works.so"
        if not self.extension.exists():
            compile("works.c", self.extension, "-DWORKS_EXTENSION", "-shared", "-fPIC")
        # Two of the packages bring a module of the same name.
        target = bench.folder / "packages" / name
        install(bench.folder, package, "--target", target)
        self.environment = {"PYTHONPATH": str(target)}
        try:
            self.settings("64")
            self.check_file(bench.small)
        except RuntimeError as error:
            raise Missing(str(error)) from error

    def command(self, work, file, shape, count, cache, titles):
        text_bytes, collections = (shape.text_bytes, shape.collections) if shape else (1024, 1)
        return [self.python, TOOLS / "peers" / "host.py", self.module, self.extension, work, file, count, text_bytes,
                collections, cache, self.key, self.next_key]


PEERS = [
    # The newest plain SQLite in the same way shows what its version changes.
    ("newest", "newest SQLite", "apsw", "apsw"),
    ("sqlcipher", "SQLCipher", "sqlcipher3", "sqlcipher3",
     f"PRAGMA key=\"x'{RAW_KEY}'\"", f"PRAGMA rekey=\"x'{NEXT_RAW_KEY}'\""),
    ("aegis", "SQLite3MC, AEGIS", "apsw-sqlite3mc", "apsw",
     f"PRAGMA cipher='aegis'; PRAGMA key='raw:{RAW_KEY}'", f"PRAGMA rekey='raw:{NEXT_RAW_KEY}'"),
]


def peers(bench):
    """Available peers, and the reason for each missing one by its label."""
    found, missing = [], {}
    for name, label, *rest in PEERS:
        try:
            found.append(Peer(bench, name, label, *rest))
        except Missing as error:
            missing[label] = str(error)
            print(f"bench: {label} is missing: {error}", file=sys.stderr)
    return found, missing


def compile(source, output, *options):
    subprocess.run(["cc", "-O2", "-o", output, BENCHMARKS / source, *options], check=True, stdout=sys.stderr)


def built(*arguments):
    """The folder of release builds; the compiler speaks on standard error."""
    command = ["swift", "build", "-c", "release", "--static-swift-stdlib", *arguments]
    subprocess.run(command, check=True, stdout=sys.stderr)
    shown = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True)
    return Path(shown.stdout.strip())


def environment_of(folder):
    """A virtual environment with pip, in that folder."""
    environment = folder / "environment"
    if not environment.exists():
        made = subprocess.run([sys.executable, "-m", "venv", environment], capture_output=True, text=True)
        if made.returncode != 0:
            shutil.rmtree(environment, ignore_errors=True)
            raise Missing("no virtual environment could be made (on Debian: python3-venv)")
    return environment


def install(folder, package, *options):
    pip = [environment_of(folder) / "bin" / "pip", "--disable-pip-version-check", "-q", "install", *options, package]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["pip failed"]
        raise Missing(f"pip: {lines[-1]}")
