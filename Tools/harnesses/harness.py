"""The parts that the harnesses share: the programs that they start, their options, and how they report.

Does: asks the package manager for programs, and builds those of the release build first. Knows: the package, the options
that most harnesses have. Does not know: what the programs do. Importing this module makes the second reader importable.
"""

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[1]
KEYS = TOOLS.parent / "Keys"
NAME, STARTED = Path(sys.argv[0]).name, time.monotonic()
# A folder in memory for files that needn't outlive the process, or None.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
sys.path.append(str(TOOLS / "reader"))


def dbtool():
    """Returns the dbtool of the last debug build, which this function does not build."""
    return _folder(["swift", "build", "--package-path", TOOLS.parent]) / "dbtool"


def released(product):
    """Builds a program as lib-setup.sh builds dbtool, because other options would compile everything twice."""
    scratch = TOOLS.parent / ".build/programs"
    options = [
        "-c", "release", "--static-swift-stdlib", "-debug-info-format", "none", "--scratch-path", scratch, "--product", product]
    command = ["swift", "build", *options, "--package-path", TOOLS.parent]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: failed\n{done.stdout}")
    return _folder(command) / product


def _folder(command):
    shown = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True)
    return Path(shown.stdout.strip())


def parser(description, only=None, seed=None):
    """Returns a parser of `[--long] [--seed N] [--only NAME]... [PATH-OF-DBTOOL]`. `only` are the names of --only."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("dbtool", nargs="?", type=Path)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32) if seed is None else seed)
    if only:
        parser.add_argument("--only", action="append", choices=only)
    return parser


def options(parser, find_dbtool=dbtool):
    given = parser.parse_args()
    given.dbtool = (given.dbtool or find_dbtool()).resolve()
    return given


def environment(**more):
    """Returns the environment of a dbtool that opens TEST stores, without the caller's DBTOOL_ variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DBTOOL_")}
    return kept | {"DBTOOL_ALLOW_TEST_KEYS": "1"} | more


def error_kind(errors):
    """Returns the kind of the error that `dbtool --json` printed last, or None."""
    try:
        return json.loads(errors.decode().splitlines()[-1])["error"]["kind"]
    except (ValueError, KeyError, IndexError):
        return None


def in_turn(lists, chance):
    """Shuffles each list, then takes one entry of each in turn."""
    shuffled = [chance.sample(each, len(each)) for each in lists]
    return [job for jobs in itertools.zip_longest(*shuffled) for job in jobs if job]


def show(findings, most=None):
    """Prints the first findings, and returns all of them."""
    for finding in findings[:most]:
        print(f"{NAME}: FOUND: {finding}", flush=True)
    return findings


def ended(findings, summary):
    """Prints the last line of a run and returns the exit code."""
    print(f"{NAME}: {summary}, {time.monotonic() - STARTED:.0f} s: {len(findings) or 'no'} findings")
    return 1 if findings else 0
