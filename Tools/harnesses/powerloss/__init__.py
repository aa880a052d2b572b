"""Power loss: what may stand on a disk after a cut, and what of a store must still be there.

preload/record.c writes down what a command does to its files; `recording` reads that; `disk` knows what of it a disk may have
kept; `states` chooses among all of that; `workloads` is the table of what is run. `coffer-reopen` of
Tools/harnesses/programs opens what is rebuilt.
Knows nothing of SQLite: what counts is what was written and what was synchronised.
"""
