"""A publisher, its customers and the attackers: for Tools/harnesses/releases and Tools/harnesses/hosting.

`setting.py` publishes releases with dbtool, `forging.py` writes what attackers write with the keys that they have,
`holders.py` and `mirrors.py` are the attacks, each with the results that it must have.
"""
