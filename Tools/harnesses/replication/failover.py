"""Failover: a machine dies, its replica is restored and promoted elsewhere, and the old machine comes back.

The check before each start (`info --pin PIN`) must refuse the old store, both replicas must restore sound after both
machines have written, and `tail` of the old store must be exactly what the new branch lacks. As a control, both machines
write to one replica: restore or `verify` must show it.
"""

import json
import random
import time

from .setting import Findings, Machine, file_replica, generation_of, kill, plaintext_in, wait_for


def net_changes(commits):
    """The changes of each document over some commits, as `tail` names them."""
    changes = {}
    for commit in commits:
        known = changes.get(commit.id, set())
        if commit.act == "deleted":
            if "inserted" in known:
                del changes[commit.id]
            else:
                changes[commit.id] = {"deleted"}
        elif "inserted" not in known:
            changes[commit.id] = {"inserted"} if commit.act == "inserted" else known | {commit.act}
    return changes


def report_of(text):
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


def trial(tools, folder, failovers, seed):
    findings, random_numbers = Findings(), random.Random(seed)
    refused = lost = controls = caught = 0
    seconds = []
    for number in range(failovers):
        place = folder / f"failover{number}"
        old = Machine(tools, place / "old", file_replica(place / "replica-1"), 0.1)
        old.create()
        old.start_litestream()
        old.start_writer(100, seed + number)
        wait_for(old.confirmed)
        time.sleep(random_numbers.uniform(0.5, 2))
        # Litestream first: some commits are lost, as if the network were gone.
        kill(old.litestream)
        time.sleep(random_numbers.uniform(0, 0.4))
        kill(old.writer)
        confirmed = old.confirmed()[-1][0]

        start = time.monotonic()
        new = Machine(tools, place / "new", file_replica(place / "replica-2"), 0.1)
        error = old.restore(new.store)
        if not findings.expect(not error, f"failover {number}: not restored: {error}"):
            continue
        promoted = new.run("replica", "promote", new.store, "--anchor", confirmed)
        if not findings.expect(promoted.returncode == 0, f"failover {number}: not promoted: {promoted.stderr.strip()}"):
            continue
        seconds.append(time.monotonic() - start)
        facts = {name: value.strip() for name, value in report_of(promoted.stdout).items()}
        base = generation_of(facts["base"])

        what = f"failover {number}: the check"
        new.expect(findings, f"{what} refuses the new store", "info", new.store, "--pin", facts["pin"])
        refused += old.expect(
            findings, f"{what} lets the old store start", "info", old.store, "--pin", facts["pin"], code=21)

        tail = old.run("replica", "tail", old.store, "--since", facts["base"])
        findings.expect(tail.returncode in (0, 3), f"failover {number}: tail ends with {tail.returncode}: {tail.stderr}")
        lines = [json.loads(line) for line in tail.stdout.splitlines()]
        named = {line["id"]: set(line["change"]) for line in lines}
        wanted = net_changes([commit for commit in old.commits() if commit.generation > base])
        if tail.returncode == 3:
            wanted = {id: changes for id, changes in wanted.items() if changes != {"deleted"}}
        # The last commit may be in the file before its writer could say so.
        unsaid = set(named) - set(wanted)
        findings.expect(
            all(named.get(id) == changes for id, changes in wanted.items()) and len(unsaid) <= 1,
            f"failover {number}: tail names {named}, lost are {wanted}")
        lost += len(named)

        # The old machine comes back, without a check of its pin.
        new.start_litestream()
        new.start_writer(60, seed + number)
        old.start_litestream()
        old.start_writer(60, seed - number)
        wait_for(lambda: len(new.confirmed()) > 3)
        time.sleep(0.5)
        kill(old.writer, new.writer)
        old.stop_litestream()
        new.stop_litestream()
        for machine, name in ((old, "old"), (new, "new")):
            findings.extend(f"failover {number}: {name}: {error}" for error in machine.errors())
            target = place / f"{name}.coffer"
            error = machine.restore(target)
            if findings.expect(not error, f"failover {number}: the {name} replica is not restored: {error}"):
                machine.expect(findings, f"failover {number}: the {name} replica is not sound", "verify", target)
        after = new.confirmed()[-1][0]
        new.expect(findings, f"failover {number}: a confirmed anchor of the new branch is refused",
                   "verify", place / "new.coffer", "--anchor-only", "--anchor", after)
        new.expect(findings, f"failover {number}: the old branch passes for the new one",
                   "verify", place / "old.coffer", "--anchor-only", "--anchor", facts["anchor"], code=21)
        # The pages of both branches, and of what was restored, are sealed.
        findings.extend(
            f"failover {number}: plaintext in {file}"
            for file in plaintext_in(place / "replica-1", place / "replica-2", place / "old.coffer", place / "new.coffer"))
        if number % 4 == 0:
            controls += 1
            caught += control(tools, place, seed + number)
    findings.expect(caught == controls, f"{controls - caught} of {controls} shared replica paths went unseen")
    return findings, [
        f"{failovers} failovers: {refused} old machines refused, {lost} lost documents named by tail",
        f"restore and promote took {sum(seconds) / max(1, len(seconds)):.2f} s (mean)",
        f"{caught} of {controls} replica paths that two machines shared were caught",
    ]


def control(tools, place, seed):
    """Two machines, one replica path: whether restore, verify or the anchors show it."""
    shared = file_replica(place / "shared")
    one = Machine(tools, place / "one", shared, 0.1)
    one.create()
    one.start_litestream()
    one.start_writer(60, seed)
    wait_for(one.confirmed)
    time.sleep(0.5)
    kill(one.writer, one.litestream)
    other = Machine(tools, place / "other", shared, 0.1)
    if one.restore(other.store) or other.run("replica", "promote", other.store, "--no-anchor").returncode != 0:
        return 1
    for machine in (other, one):
        machine.start_litestream()
        machine.start_writer(60, seed + 1)
    time.sleep(3)
    kill(one.writer, other.writer)
    for machine in (one, other):
        machine.stop_litestream()
    target = place / "shared.coffer"
    if one.restore(target) or one.run("verify", target).returncode != 0:
        return 1
    # A sound file of one branch is refused by the anchors that the other one confirmed, or has lost them.
    anchors = [machine.confirmed()[-1][0] for machine in (one, other) if machine.confirmed()]
    return int(any(one.run("verify", target, "--anchor-only", "--anchor", anchor).returncode != 0 for anchor in anchors))
