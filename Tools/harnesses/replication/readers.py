"""Read replicas: a followed file is adopted again and again while a writer writes, and readers read the copies.

Every copy must be sound, generations must never fall, and copies must be at most three seconds behind. A follow that is
killed while it applies must leave nothing that is adopted and not sound.
"""

import collections
import random
import statistics
import subprocess
import threading
import time

from .setting import KEYS, Findings, Machine, file_replica, generation_of, kill, plaintext_in, wait_for


class AnchorFile(threading.Thread):
    """Publishes the writer's confirmed anchors, as an operator's script does."""

    def __init__(self, machine, path):
        super().__init__(daemon=True)
        self.machine, self.path, self.is_done = machine, path, threading.Event()

    def run(self):
        while not self.is_done.wait(1):
            confirmed = self.machine.confirmed()
            if confirmed:
                new = self.path.with_suffix(".new")
                new.write_text(confirmed[-1][0] + "\n", encoding="utf-8")
                new.rename(self.path)


def trial(tools, folder, switches, seed):
    findings = Findings()
    machine = Machine(tools, folder / "writer", file_replica(folder / "replica"), 0.1)
    machine.create()
    machine.start_litestream()
    machine.start_writer(60, seed)
    wait_for(machine.confirmed)
    private, copies = folder / "follow", folder / "copies"
    private.mkdir()
    copies.mkdir()
    followed, anchors = private / "s.coffer", folder / "confirmed.anchor"
    anchors.write_text(machine.confirmed()[-1][0] + "\n", encoding="utf-8")
    follow = machine.follow(followed)
    publisher = AnchorFile(machine, anchors)
    publisher.start()
    wait_for(followed.exists)
    log = open(folder / "adopt.log", "wb")
    started = time.time()
    adopting = subprocess.Popen(
        [tools.dbtool, "replica", "adopt", followed, copies, "--key-file", KEYS["primary"], "--anchor", anchors, "--every", "0.3",
         "--no-input"], env=tools.environment, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
    reader = None
    generations, delays, steps = [], [], []
    patience = time.monotonic() + 30 + 3 * switches
    for line in adopting.stdout:
        now = time.time()
        path, generation = line.rstrip("\n").split("\t")
        generations.append(int(generation))
        steps.append(now)
        if reader is None:
            reader_log = open(folder / "reader.log", "wb")
            reader = subprocess.Popen(
                [tools.replica, "read", copies, KEYS["primary"], "86400"], stdout=reader_log, stderr=subprocess.STDOUT)
        behind = [commit.time for commit in machine.commits() if commit.generation > int(generation)]
        delays.append(max(0, now - behind[0]) if behind else 0)
        # A copy may be pruned before it is looked at; the current one is there.
        machine.expect(findings, f"copy {path}: not sound", "verify", copies / "current")
        if len(generations) >= switches or time.monotonic() > patience:
            break
    adopting.terminate()
    findings.expect(adopting.wait(30) == 0, f"adopt ended with {adopting.returncode}")
    kill(reader)
    lines = (folder / "reader.log").read_text(encoding="utf-8").split("\n")[:-1] if reader else []
    findings.extend(f"reader: {line}" for line in lines if " error " in line)
    read = [int(line.split(" ")[2]) for line in lines if " read " in line]
    findings.expect(read == sorted(read), "a reader's generations fell")
    findings.expect(len(set(read)) > switches // 3, f"a reader saw {len(set(read))} generations of {switches} copies")
    findings.expect(len(generations) >= switches, f"{len(generations)} of {switches} switches; see the log: "
                    f"{(folder / 'adopt.log').read_text()[-500:]}")
    findings.expect(generations == sorted(set(generations)), "generations fell")
    findings.expect(max(delays, default=0) <= 3, f"a copy was {max(delays, default=0):.2f} s behind")
    publisher.is_done.set()
    killed = killed_follows(machine, followed, copies, follow, findings, seed, max(4, switches // 5))
    kill(machine.writer, machine.litestream)
    findings.extend(machine.errors())
    findings.extend(f"plaintext in {file}" for file in plaintext_in(folder / "replica", private, copies))
    gaps = [after - before for before, after in zip(steps, steps[1:])]
    return findings, [
        f"{len(generations)} switches in {steps[-1] - started:.0f} s under 60 commits a second, a reader saw {len(set(read))} of them",
        f"{statistics.median(delays):.2f} s behind (median), {max(delays):.2f} s at most; a step each "
        f"{statistics.median(gaps):.2f} s",
        killed,
    ]


def killed_follows(machine, followed, copies, follow, findings, seed, tries):
    """Kills a follow that applies large changes, and adopts what it leaves."""
    random_numbers = random.Random(seed)
    outcomes = collections.Counter()
    big = "\n".join(f"Waldschrat {number} " + "y" * 4000 for number in range(1500))
    for number in range(tries):
        kill(follow)
        for file in followed.parent.iterdir():
            file.unlink()
        follow = machine.follow(followed, 0.05)
        wait_for(followed.exists)
        before = followed.stat().st_mtime_ns
        machine.expect(findings, "import", "import", machine.store, "-", "--from", "lines", "-c", "Zwetschge", given=big)
        wait_for(lambda: followed.stat().st_mtime_ns != before, 10)
        time.sleep(random_numbers.uniform(0, 0.01))
        kill(follow)
        latest = generation_of(machine.run("verify", "--anchor-only", "--save-anchor", "-", copies / "current").stdout.strip())
        result = machine.run("replica", "adopt", followed, copies, "--wait", "0")
        findings.expect(
            result.returncode in (0, 20, 21), f"killed follow {number}: adopt ends with {result.returncode}: {result.stderr}")
        is_adopted = "adopted:    true" in result.stdout
        outcomes[(is_adopted and "adopted" or "unchanged") if result.returncode == 0 else "refused"] += 1
        machine.expect(findings, f"killed follow {number}: an unsound file was adopted", "verify", copies / "current")
        now = generation_of(machine.run("verify", "--anchor-only", "--save-anchor", "-", copies / "current").stdout.strip())
        findings.expect(now >= latest, f"killed follow {number}: generation {now} after {latest}")
    kill(follow)
    return (f"{tries} follows killed: {outcomes['refused']} files refused, {outcomes['unchanged']} as before, "
            f"{outcomes['adopted']} killed between two changes and sound")
