"""A kit of broken stores, one file per attack with what must happen beside it; usable by any implementation of FORMAT.md.

Does: writes sound stores from a seed, then damages, rolls back, mixes and forges them.
Knows: the format from FORMAT.md, through the second reader's primitives; SQLite. Shares no code with the library.
Does not know: how anyone reads a store.
Read `writer.py` first, then `bases.py`; what is done to the bases stands in `rows.py`, `files.py`, `headers.py`,
`schemas.py` and `insiders.py`. `../make-attacks` is the command, `checks/check-attacks` holds readers to what it writes.
"""
