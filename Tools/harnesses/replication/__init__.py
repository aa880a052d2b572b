"""The trials of `Tools/replicate`: a store that Litestream copies, and everything that may go wrong around it.

`setting.py` starts the programs and keeps what was acknowledged. A trial reports findings in words, and figures.
"""
