"""Random attacks by former key holders: a store's history, the insider's edits, and the promises that must hold.

`history.py` grows a store through rekeys, `acts.py` is the insider, `promises.py` the owner who reads the result, and
the judge. For Tools/harnesses/insiders.
"""
