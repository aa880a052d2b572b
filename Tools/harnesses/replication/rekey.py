"""A rekey beside Litestream: four processes write, the key changes, and the replica is restored twice.

The re-encryption ends after Litestream, which keeps the log's old pages, has been stopped. As a test of the search for
plaintext, a plain database is replicated too, and its text must be found in its replica.
"""

import sqlite3
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from .setting import KEYS, SECRETS, Findings, Machine, file_replica, kill, plaintext_in, wait_for

PATIENCE = 60


class Writers:
    """Processes of dbtool that put documents, and what was acknowledged."""

    def __init__(self, machine, findings):
        self.machine, self.findings, self.written, self.lock = machine, findings, [], threading.Lock()

    def write(self, name, end):
        number = 0
        while time.monotonic() < end:
            number += 1
            text = f"{SECRETS[0]} {name} {number} " + "x" * (number * 97 % 3000)
            done = self.machine.run(
                "put", self.machine.store, "-c", SECRETS[3], "--title", SECRETS[1], "--key-name",
                f"{SECRETS[2]} {name} {number}", "-", keys=("primary", "next"), given=text)
            # Locked for longer than dbtool waits, or the key changed meanwhile: reported, and nothing written.
            if done.returncode == 0:
                with self.lock:
                    self.written.append(text)
            elif done.returncode not in (11, 12):
                self.findings.append(f"put: exit {done.returncode}: {done.stderr.strip()}")


def trial(tools, folder, seconds):
    findings = Findings()
    control(tools, folder / "plain", findings)
    machine = Machine(tools, folder / "sealed", file_replica(folder / "replica"), 1.0)
    machine.create()
    machine.start_litestream()
    writers = Writers(machine, findings)
    end = time.monotonic() + seconds
    with ThreadPoolExecutor() as pool:
        writing = [pool.submit(writers.write, f"writer{number}", end) for number in range(4)]
        time.sleep(seconds / 2)
        # The key changes at once; the log's old pages stay until Litestream is stopped.
        rekeyed = machine.run("rekey", machine.store, "--new-key-file", KEYS["next"], "--wait", "2")
        findings.expect(rekeyed.returncode in (0, 11, 23), f"rekey beside Litestream: {rekeyed.stderr.strip()}")
        for one in writing:
            one.result()
    restored_and_whole(machine, folder / "beside.coffer", writers, findings)
    machine.stop_litestream()
    if machine.run("rekey", machine.store, "--status", keys=("next",)).returncode == 23:
        machine.expect(findings, "rekey --resume", "rekey", machine.store, "--resume", keys=("next",))
    machine.expect(findings, "rekey --status", "rekey", machine.store, "--status", keys=("next",), code=1)
    machine.start_litestream()
    restored_and_whole(machine, folder / "after.coffer", writers, findings)
    machine.stop_litestream()
    findings.extend(f"plaintext in {file}" for file in plaintext_in(folder / "replica", folder / "sealed"))
    files = sum(1 for path in (folder / "replica").rglob("*") if path.is_file())
    return findings, [f"{len(writers.written)} documents by 4 writers, 1 rekey, {files} files of replica, 2 stores restored"]


def restored_and_whole(machine, target, writers, findings):
    """Restores until the replica has the present state; Litestream copies a moment after each commit."""
    both = ("primary", "next")
    anchor = machine.run("verify", "--anchor-only", "--save-anchor", "-", machine.store, keys=both).stdout.strip()

    def is_current():
        target.unlink(missing_ok=True)
        return not machine.restore(target) and (
            machine.run("verify", target, "--anchor-only", "--anchor", anchor, "--require", "same", keys=both).returncode == 0)

    if not wait_for(is_current, PATIENCE):
        findings.append(f"{target.name}: not the present state after {PATIENCE} s")
        return
    machine.expect(findings, f"{target.name}: not sound", "verify", target, keys=both)
    exported = machine.run("export", target, "--to", "json", keys=both)
    missing = [text for text in writers.written if text not in exported.stdout]
    findings.expect(not missing, f"{target.name}: {len(missing)} acknowledged documents are missing")


def control(tools, place, findings):
    place.mkdir()
    database, replica = place / "texts.db", place / "replica"
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("CREATE TABLE texts(text)")
    with open(place / "litestream.log", "wb") as log:
        running = subprocess.Popen(
            [tools.litestream, "replicate", database, f"file://{replica}"], stdout=log, stderr=log, start_new_session=True)
    connection.execute("INSERT INTO texts VALUES (?)", [SECRETS[0]])
    restored = place / "restored.db"

    def has_text():
        restored.unlink(missing_ok=True)
        done = subprocess.run([tools.litestream, "restore", "-o", restored, f"file://{replica}"], capture_output=True)
        return done.returncode == 0 and sqlite3.connect(restored).execute("SELECT count(*) FROM texts").fetchone() == (1,)

    findings.expect(wait_for(has_text, PATIENCE), "a plain database is not replicated")
    kill(running)
    findings.expect(
        list(plaintext_in(replica)), "the search does not find the text of a plain database in its replica")
