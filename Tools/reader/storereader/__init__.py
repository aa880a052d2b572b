"""A second reader of store files, written from FORMAT.md alone; it shares no code with the library.

Does: opens a store, checks everything that FORMAT.md asks of a reader, gives documents, verdict and anchor.
Knows: SQLite through Python's own module, AES, GCM, scrypt and X25519 through `cryptography`.
Does not know: how to write a store, or how the library does any of this.
Read `store.py` first; `Tools/read_store.py` is the command.
"""
