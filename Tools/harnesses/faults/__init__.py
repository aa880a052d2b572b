"""Deliberate faults: a kill or a failing disk, at each system call of a command in turn or at a random time.

`workloads` lists the commands and the states that may follow; `trial` runs one with one fault after another. Knows
nothing of how a store is written.
"""
