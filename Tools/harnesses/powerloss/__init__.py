"""Power loss: the states that a cut may leave on a disk, and the parts of a store that each must still hold.

preload/record.c records a command's changes of its files; `recording` reads the record; `disk` derives the states that
a disk may have kept; `states` chooses among them; `workloads` lists the commands. `coffer-reopen` of
Tools/harnesses/programs opens the rebuilt states.
Knows nothing of SQLite: only writes and synchronisations count.
"""
