"""Libraries that stand between a command and the C library, loaded before it (LD_PRELOAD).

`record.c` writes down what is done to files, `allocations.c` makes allocations fail, `unnamed.c` refuses files without
a name.
"""

import shutil
import subprocess
from pathlib import Path


def build(name, folder):
    """Compiles one with the clang beside swift."""
    clang = Path(shutil.which("swift")).resolve().with_name("clang")
    library = Path(folder, f"{name}.so")
    source = Path(__file__).with_name(f"{name}.c")
    subprocess.run([clang, "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, source], check=True)
    return library
