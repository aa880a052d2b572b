"""Faults made on purpose: a command is stopped, or its disk fails, at one system call after another.

`calls` runs a command under strace and counts or breaks its calls; `workloads` is the table of what is run and what may
be found afterwards; `oracle` looks at what is left, by the second reader and not by the library.
Knows nothing of how a store is written.
"""
