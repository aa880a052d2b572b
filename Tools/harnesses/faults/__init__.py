"""Deliberate faults: a kill or a failing disk, at each system call of a command in turn or at a random time.

`calls` runs a command under strace and counts or breaks its calls; `workloads` lists the commands and the states that
may follow; `trial` runs one workload with one fault after another; `oracle` reads the result, with the second reader
and not with the library. Knows nothing of how a store is written.
"""
