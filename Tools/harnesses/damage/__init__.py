"""Damage to a store's bytes, and its permitted results.

Does: finds the use of each byte of a file (`pages.py`), makes damage of every kind (`edits.py`), and decides whether
the results of a reader are permitted (`rules.py`).
Knows: SQLite's file format, the tables of FORMAT.md. Does not know: keys, or how anything is sealed.
Read `rules.py` first; `../flips` is the command.
"""
