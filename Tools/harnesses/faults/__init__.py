"""Faults made on purpose: a command is stopped, or its disk fails, at one system call after another or at any time.

`calls` runs a command under strace and counts or breaks its calls; `workloads` is the table of what is run and what may
be found afterwards; `trial` runs one of them in one broken way after another; `oracle` looks at what is left, by the
second reader and not by the library. Knows nothing of how a store is written.
"""
