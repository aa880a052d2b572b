"""Reads with readelf which libraries a program loads, and the versions of their symbols.

As a script, `elf.py PROGRAM` prints both in words.
"""

import re
import subprocess
import sys

# The libraries of glibc, which every Linux with it has. A manylinux wheel may load them.
GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}


def readelf(option, program):
    return subprocess.run(["readelf", "--wide", option, program], check=True, capture_output=True, text=True).stdout


def libraries(program):
    """Returns the names of the libraries that a program loads, without the loader itself."""
    names = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", program))
    return [name for name in names if not name.startswith("ld-linux")]


def glibc_version(program):
    """Returns the oldest version of glibc that has every symbol of a program, such as (2, 35)."""
    versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", readelf("--version-info", program))
    return max((int(major), int(minor)) for major, minor in versions)


if __name__ == "__main__":
    program = sys.argv[1]
    print("glibc {}.{} or later".format(*glibc_version(program)), f"({', '.join(libraries(program))})")
