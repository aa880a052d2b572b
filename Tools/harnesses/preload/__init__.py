"""Libraries that are loaded before the C library (LD_PRELOAD) and replace some of its functions.

`record.c` records changes of files, and refuses files without a name; `allocations.c` makes allocations fail;
`entropy.c` gives random bytes that are the same in each run; `apple.c` takes away what Apple's systems don't have.
"""

import shutil
import subprocess
from pathlib import Path


def build(name, folder, *defined):
    """Compiles one library with the clang in the folder of swift. `defined` are macros."""
    clang = Path(shutil.which("swift")).resolve().with_name("clang")
    library = Path(folder, f"{name}.so")
    source = Path(__file__).with_name(f"{name}.c")
    subprocess.run([clang, "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", *(f"-D{macro}" for macro in defined), "-o", library, source], check=True)
    return library
