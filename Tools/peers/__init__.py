"""Compares our code with plain SQLite and with SQLites that encrypt: `Tools/bench peers` and `Tools/bench curves`."""
