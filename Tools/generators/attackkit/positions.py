"""Positions of documents: fractional indexes, blobs of 1 to 255 bytes in bytewise order.

A writer makes them of levels: number, tag, count. Readers accept any bytes, so attacks may use others.
"""

# Distance of a new level's number from the last one, at an open end; the longest position.
STEP, LIMIT = 4096, 255
TAG_SIZE = 3


def integer(value):
    """An integer whose bytes are ordered as its values, in 1 to 5 or 7 bytes; the bytes of ~value are inverted."""
    if value < 0:
        return _inverted(integer(~value))
    if value >> 49:
        raise OverflowError("no position has a number of more than 49 bits")
    size = (value.bit_length() + 7) // 7
    size, head = (7, 0xFC) if size > 5 else (size, 0xFF00 >> size & 0xFF)
    return (head << 8 * (size - 1) | value).to_bytes(size, "big")


def place(number, count=0, tag=bytes(TAG_SIZE)):
    """A position of one level; behind the bytes of another position, one between that and the next."""
    return integer(number) + tag + integer(count)


def first_number(position):
    """The number of a position's first level."""
    is_negative = position[0] < 0x80
    data = _inverted(position) if is_negative else position
    size = 8 - (data[0] ^ 0xFF).bit_length()  # as many bytes as the first has leading ones, or 7
    size, bits = (7, 49) if size > 5 else (size, 7 * size - 1)
    value = int.from_bytes(data[:size], "big") & (1 << bits) - 1
    return ~value if is_negative else value


def _inverted(data):
    return bytes(byte ^ 0xFF for byte in data)
