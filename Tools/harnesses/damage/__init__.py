"""Damage to a store's bytes, and what may come of it.

Does: finds what each byte of a file is for (`pages.py`), makes damage of every kind (`edits.py`), and says of what a
reader found whether that was allowed (`rules.py`).
Knows: SQLite's file format, the tables of FORMAT.md. Does not know: keys, or how anything is sealed.
Read `rules.py` first; `../flips` is the command.
"""
