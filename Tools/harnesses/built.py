"""Finds the programs that the harnesses start, and builds those of the release build first.

Does: asks the package manager. Knows: the package. Does not know: what the programs do.
"""

import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[1]


def dbtool():
    """The dbtool of the last debug build, which this function does not build."""
    return _folder(["swift", "build", "--package-path", TOOLS.parent]) / "dbtool"


def released_dbtool():
    return _released("dbtool")


def trial(name):
    """A program of Tools/harnesses/programs, in release."""
    return _released(name)


def _released(product):
    """As lib-setup.sh builds dbtool: other options would compile everything twice."""
    options = ["-c", "release", "--static-swift-stdlib", "--product", product]
    return _built(["swift", "build", *options, "--package-path", TOOLS.parent]) / product


def _built(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: failed\n{done.stdout}")
    return _folder(command)


def _folder(command):
    shown = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True)
    return Path(shown.stdout.strip())
