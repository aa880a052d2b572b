"""Selects the states of a disk that the harness checks."""

from . import recording

# Up to this number of pieces, the harness checks every combination of them.
FEW = 6


def situations(disk, events):
    """Plays the events; stops at command ends and before a first synchronisation: (acknowledged, pending pieces).

    Every state of any other moment is possible at one of these too: only a synchronisation settles pending pieces, and
    a command's end only adds to the documents that must be there.
    """
    acknowledged, is_new = 0, True
    for event in events:
        if event is recording.ACKNOWLEDGED:
            acknowledged += 1
            yield acknowledged, disk.pieces()
            is_new = False
            continue
        if event.kind in recording.SYNCHRONISING and is_new:
            yield acknowledged, disk.pieces()
            is_new = False
        disk.apply(event)
        is_new = is_new or event.kind not in recording.SYNCHRONISING
    if is_new:
        yield acknowledged, disk.pieces()


def shares(counts, wanted):
    """The number of states per moment. A moment with few pending pieces (`counts`) leaves states to the others."""
    found, left = [0] * len(counts), wanted
    for rank, index in enumerate(sorted(range(len(counts)), key=counts.__getitem__)):
        found[index] = min(2 << min(counts[index], 40), left // (len(counts) - rank))
        left -= found[index]
    return found


def choices(pieces, chance):
    """Sets of pieces, the most revealing first: (pieces, filler of unwritten bytes). Endless beyond FEW pieces."""
    zeros, stale = b"\0", chance.randbytes(641)
    if len(pieces) <= FEW:
        for bits in range(1 << len(pieces)):
            chosen = {piece for index, piece in enumerate(pieces) if bits >> index & 1}
            yield chosen, zeros
            yield chosen, stale
        return
    yield set(), zeros
    yield set(pieces), zeros
    writes = sorted({piece.write for piece in pieces})
    telling = []
    for write in writes:
        telling.append({piece for piece in pieces if piece.write <= write})
        telling.append({piece for piece in pieces if piece.write != write})
        telling.append({piece for piece in pieces if piece.write == write})
    chance.shuffle(telling)
    for chosen in telling:
        yield chosen, chance.choice((zeros, stale))
    while True:
        yield _any(pieces, writes, chance), chance.choice((zeros, stale))


def _any(pieces, writes, chance):
    """A random set: some of the writes, one of them perhaps torn; or some of the sectors."""
    likely = chance.choice((0.1, 0.5, 0.9))
    kind = chance.randrange(3)
    whole = {write for write in writes if chance.random() < likely}
    torn = chance.choice(writes) if kind == 1 else None

    def is_there(piece):
        # Without its name, a file shows none of its writes.
        if piece.names:
            return chance.random() < 0.8
        if kind == 0:
            return chance.random() < likely
        return chance.random() < 0.5 if piece.write == torn else piece.write in whole

    return {piece for piece in pieces if is_there(piece)}
