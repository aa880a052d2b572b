"""Power loss: the states that a cut may leave on a disk, and the parts of a store that each must still hold.

`recording` reads what preload/record.c recorded, `disk` derives the states, `states` chooses among them, `trial` judges
them. Knows nothing of SQLite: only writes and synchronisations count.
"""
