"""Recovery: writer and Litestream die at any moment, the disk with them, and the replica is restored.

Every restored store must be sound and must hold every commit that a confirmation covered; commits are lost for no longer
than twice the interval of Litestream and a second.
"""

import random
import statistics
import time

from .setting import Findings, Machine, file_replica, generation_of, kill, plaintext_in, wait_for


def trial(tools, folder, kills, seed, make_replica=None):
    findings, random_numbers = Findings(), random.Random(seed)
    lost, windows, confirmations, kinds = {0.1: [], 1.0: []}, {0.1: [], 1.0: []}, [], []
    for number in range(kills):
        interval = 0.1 if number % 2 == 0 else 1.0
        place = folder / f"kill{number}"
        replica = (make_replica or file_replica)(place / "replica" if make_replica is None else f"kill{number}")
        machine = Machine(tools, place, replica, interval)
        machine.create()
        machine.start_litestream()
        # The slow interval without confirmations, which would hide what is lost without them.
        machine.start_writer(200, seed + number, confirming=50 if interval < 1 else 0)
        wait_for(lambda: machine.commits())
        # On a busy machine, Litestream may take longer than its interval to begin a replica.
        wait_for(lambda: not machine.restore(place / "first.coffer"))
        time.sleep(random_numbers.uniform(1.2, 4.5))
        kill(machine.writer, machine.litestream)
        commits, confirmed = machine.commits(), machine.confirmed()
        findings.extend(f"kill {number}: {error}" for error in machine.errors())
        target = place / "restored.coffer"
        error = machine.restore(target)
        if not findings.expect(not error, f"kill {number}: not restored: {error}"):
            continue
        machine.expect(findings, f"kill {number}: not sound", "verify", target)
        restored = generation_of(machine.run("verify", "--anchor-only", "--save-anchor", "-", target).stdout.strip() or "0:0:0:0:0")
        if confirmed:
            last = confirmed[-1][0]
            machine.expect(findings, f"kill {number}: the last confirmed anchor is refused", "verify", target, "--anchor-only", "--anchor", last)
            findings.expect(
                restored >= generation_of(last),
                f"kill {number}: generation {generation_of(last)} was confirmed, {restored} restored")
            confirmations += [milliseconds for _, milliseconds in confirmed]
        missing = [commit for commit in commits if commit.generation > restored]
        lost[interval].append(len(missing))
        window = commits[-1].time - missing[0].time if missing else 0
        windows[interval].append(window)
        findings.expect(window <= 2 * interval + 1, f"kill {number}: commits of the last {window:.2f} s are lost")
        kinds.append(len(confirmed))
        if make_replica is None:
            findings.extend(f"kill {number}: plaintext in {file}" for file in plaintext_in(place / "replica", target))
    figures = [f"{kills} kills, {sum(kinds)} confirmations"]
    for interval in lost:
        if lost[interval]:
            figures.append(
                f"interval {interval} s: {statistics.median(lost[interval]):.0f} commits lost (median), "
                f"{max(lost[interval])} at most, of {max(windows[interval]):.2f} s at most")
    if confirmations:
        figures.append(f"a confirmation takes {statistics.median(confirmations):.1f} ms (median)")
    return findings, figures
