"""Damage of every kind. Each edit is (description, length of the file, [(offset, bytes)...])."""

SECTOR = 512


def flips(data, seed, bits):
    """Flips one bit of every byte, not always the same one; with `bits`, each of the eight in turn."""
    for offset in range(len(data)):
        for bit in range(8) if bits else [(offset ^ offset >> 3 ^ offset >> 7) + seed & 7]:
            yield flip(data, offset, bit)


def random_flips(data, random, count):
    for _ in range(count):
        yield flip(data, random.randrange(len(data)), random.randrange(8))


def flip(data, offset, bit):
    return f"bit {bit} of byte {offset}", len(data), [(offset, bytes([data[offset] ^ 1 << bit]))]


def truncations(data, step):
    for length in range(0, len(data), step):
        yield f"cut to {length} bytes", length, []


def sectors(data, random):
    """Zeroes each sector, writes it over the next one, and swaps it with the next one and with a random one."""
    count = len(data) // SECTOR

    def sector(number):
        return data[number * SECTOR : (number + 1) * SECTOR]

    def edit(what, *written):
        patches = [(number * SECTOR, content) for number, content in written if sector(number) != content]
        return (what, len(data), patches) if patches else None

    for number in range(count):
        following, other = (number + 1) % count, random.randrange(count)
        made = [
            edit(f"sector {number} zeroed", (number, bytes(SECTOR))),
            edit(f"sector {number} written over {following}", (following, sector(number))),
        ]
        for second in {following, other}:
            made.append(edit(
                f"sectors {number} and {second} swapped", (number, sector(second)), (second, sector(number))))
        yield from filter(None, made)


def pages(data, page_size, random):
    """Zeroes each page, writes it over a random one, and swaps them, as a disk that loses or misplaces a write."""
    count = len(data) // page_size

    def page(number):
        return data[number * page_size : (number + 1) * page_size]

    for number in range(count):
        other = random.randrange(count)
        yield f"page {number + 1} zeroed", len(data), [(number * page_size, bytes(page_size))]
        if other != number:
            yield f"page {number + 1} written over {other + 1}", len(data), [(other * page_size, page(number))]
            yield f"pages {number + 1} and {other + 1} swapped", len(data), [
                (number * page_size, page(other)), (other * page_size, page(number))]


def longer(data, random):
    yield "a byte more", len(data) + 1, []
    yield "a page of zeros more", len(data) + 8192, []
    yield "a page of noise more", len(data) + 4096, [(len(data), random.randbytes(4096))]
    yield "twice the file", 2 * len(data), [(len(data), data)]
