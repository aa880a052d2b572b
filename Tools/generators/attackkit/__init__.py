"""A kit of sound and broken stores, each with a JSON of the required results; for any implementation of FORMAT.md.

Does: writes sound stores from a seed, then damages, rolls back, mixes and forges them, and plants files beside them.
Knows: the format from FORMAT.md, through the second reader's primitives; SQLite. Shares no code with the library.
Does not know: how a reader works.
Read `writer.py`, `attached.py`, `layout.py` and `dots.py` first, then `stores.py`, `mergestores.py` and
`attachmentstores.py`, the sound stores, and `contents.py`, their required contents.
Attacks: `rows.py`, `files.py`, `headers.py`, `schemas.py`, `expressions.py`, `attachmentattacks.py` (an attacker who can write the file),
`insiders.py`, `mergeattacks.py`, `states.py`, `rekeys.py`, `attachmentinsiders.py`, `attachmentchunks.py` (a key holder),
`indexattacks.py` (both), `plants.py` (files beside a store), `sessions.py` (an open session). `kit.py` writes the whole kit, `published.py` the part in Tests/Fixtures; `judging.py`
compares a reader of `readers.py` with it.
"""
