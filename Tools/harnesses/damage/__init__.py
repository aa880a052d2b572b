"""Damage to a store's bytes, and its permitted results, for `../flips`. Read `rules.py` first.

Knows: SQLite's file format, the tables of FORMAT.md. Does not know: keys, or how anything is sealed.
"""
