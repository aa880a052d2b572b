"""Our code beside plain SQLite and SQLites that encrypt: `Tools/bench peers` and `Tools/bench curves`."""
