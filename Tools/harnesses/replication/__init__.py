"""The trials of `Tools/replicate`: a store that Litestream copies, and everything that may go wrong around it.

`setting.py` starts Litestream, writers and dbtool in one folder and keeps what writers acknowledged; `recovery`, `readers`,
`failover` and `rekey` are the trials. A trial reports findings in words, and figures.
"""
