"""A session that is open while the insider edits the file: an import that waits for its input between two commits.

FORMAT, "Each transaction" is the rule: a session that has committed on top of the store of now must not write over an
older or foreign header or state, and a set that an edit made different must stay different.
"""

import json
import sqlite3
import subprocess
import time

TABLES = ("header", "spare", "slot", "state", "replica", "collection", "gone", "record", "body")
PARTS = (("state",), ("header", "spare"), ("header", "spare", "state"), ("header", "spare", "slot", "state"), ("slot",),
         ("state", "replica"), ("replica",), ("record", "body"), ("collection",), ("gone",), ("record", "body", "state"), TABLES)
# An import reads in chunks: it commits a record once it has read this much of the next one.
FILLER = b"x" * 300_000
PATIENCE = 30
LOCK = 0.3


def contents(path):
    with sqlite3.connect(path) as db:
        found = {table: db.execute(f"SELECT * FROM coffer_{table} ORDER BY 1").fetchall() for table in TABLES}
    db.close()
    return found


def held(rows):
    """The part of the header by which a session knows it: root key's generation, phase, MAC."""
    return [(row[7], row[8], row[11]) for row in rows["header"]]


def replace(path, other, tables):
    """Replaces tables in one transaction, as any program that locks the file; False if the session holds its lock."""
    db = sqlite3.connect(path, isolation_level=None, timeout=LOCK)
    try:
        rows = contents(other)
        db.execute("BEGIN EXCLUSIVE")
        for table in tables:
            db.execute(f"DELETE FROM coffer_{table}")
        for table in tables:
            for row in rows[table]:
                # The attacked file may have a lookup twice, which SQLite doesn't write.
                db.execute(f"INSERT OR REPLACE INTO coffer_{table} VALUES({','.join('?' * len(row))})", row)
        db.execute("COMMIT")
        return True
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        return False
    finally:
        db.close()


class Session:
    """`path` is a copy of the store of now, which the import opens; `attacked` is the insider's file."""

    def __init__(self, owner, attacked, rng):
        self.owner, self.path, self.attacked, self.rng, self.findings = owner, owner.path, attacked, rng, []

    def go(self):
        """Gives the outcome."""
        before = contents(self.path)
        command = [self.owner.program, "import", str(self.path), "-", "--from", "ndjson", "-c", "Notes", "--batch", "1",
                   *self.owner.key, "--no-input", "--quiet", "--json"]
        process = subprocess.Popen(
            command, env=self.owner.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            return self._edit(process, before)
        finally:
            process.kill()
            process.wait()

    def _edit(self, process, before):
        process.stdin.write(json.dumps({"text": "first"}).encode() + b"\n" + b'{"text":"second' + FILLER)
        process.stdin.flush()
        began = time.monotonic()
        while self._count() == len(before["record"]):
            if process.poll() is not None or time.monotonic() - began > PATIENCE:
                self.findings.append(f"Sessions: an import into the store of now ends with {process.poll()}")
                return "session: no commit"
            time.sleep(0.002)
        parts = self.rng.choice(PARTS)
        live = contents(self.path)
        if not replace(self.path, self.attacked, parts):
            return "session that held its lock"
        edited = contents(self.path)
        changed = {table for table in TABLES if edited[table] != live[table]}
        is_refused = "state" in changed or held(edited) != held(live)
        process.communicate(b'"}\n', timeout=PATIENCE)
        self._judge(process.returncode, parts, changed, is_refused, edited)
        return f"session over {'another header or state' if is_refused else 'edited rows or slots'}: exit {process.returncode}"

    def _count(self):
        db = sqlite3.connect(self.path, timeout=PATIENCE)
        try:
            return db.execute("SELECT count(*) FROM coffer_record").fetchone()[0]
        finally:
            db.close()

    def _judge(self, code, parts, changed, is_refused, edited):
        what = f"an open import, {', '.join(parts)} replaced"
        if code not in (0, 1, 12, 15, 16, 20, 21):
            self.findings.append(f"Exit codes: {what}: exit {code}")
        if is_refused and (code == 0 or contents(self.path) != edited):
            self.findings.append(f"Each transaction: {what}: exit {code}, and the session wrote on")
        verdict, report = self.owner.run("verify", "--json")
        # With the session's own state, no edited file can be sound; with another state, a complete older file can.
        if report and verdict == "ok" and changed and "state" not in changed:
            self.findings.append(f"Verify: {what}: sound after it")
