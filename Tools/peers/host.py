"""Loads the works into the SQLite of a Python package and runs one of them; prints its times, or its answer.

Does: `host.py PACKAGE EXTENSION WORK FILE COUNT TEXT-BYTES COLLECTIONS CACHE KEY REKEY`, one work for a process. Knows:
how each package gets at its SQLite. Does not know: works or keys. The extension opens FILE itself, so that no lock of
Python's connection, nor Python itself, is in the measured time.
"""

import ctypes
import importlib
import sys

MEMORY_STATISTICS = 9  # SQLITE_CONFIG_MEMSTATUS


def connection(package):
    module = importlib.import_module(package)
    if package == "apsw":
        # As on our side. SQLite accepts this setting only while it is shut down.
        module.shutdown()
        module.config(MEMORY_STATISTICS, False)
        module.initialize()
        return module.Connection(":memory:")
    library = ctypes.CDLL(importlib.import_module(f"{package}._sqlite3").__file__)
    if library.sqlite3_shutdown() or library.sqlite3_config(MEMORY_STATISTICS, 0) or library.sqlite3_initialize():
        sys.exit(f"host: {package} keeps its memory statistics")
    return module.connect(":memory:", isolation_level=None)


def main():
    package, extension, work, file, *numbers = sys.argv[1:]
    count, text_bytes, collections, cache, key, rekey = numbers
    database = connection(package)
    database.enable_load_extension(True)
    database.load_extension(extension)
    values = [work, file, int(count), int(text_bytes), int(collections), cache, key, rekey]
    row = database.execute("SELECT coffer_bench(?, ?, ?, ?, ?, ?, ?, ?)", values).fetchone()
    print(row[0])


main()
