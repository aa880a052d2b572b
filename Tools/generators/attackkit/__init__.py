"""A kit of sound and broken stores, a JSON beside each with what must come of it; for any implementation of FORMAT.md.

Does: writes sound stores from a seed, then damages, rolls back, mixes and forges them, and plants files beside them.
Knows: the format from FORMAT.md, through the second reader's primitives; SQLite. Shares no code with the library.
Does not know: how anyone reads a store.
Read `writer.py` and `layout.py` first, then `stores.py`, the sound stores, and `contents.py`, what they must read as.
Attacks: `rows.py`, `files.py`, `headers.py`, `schemas.py` (somebody who can write the file), `insiders.py`,
`states.py`, `rekeys.py` (somebody with keys), `plants.py` (files beside a store), `sessions.py` (a session that is
open). `kit.py` writes all of it, `published.py` the part in Tests/Fixtures; `judging.py` holds a reader of
`readers.py` to it.
"""
