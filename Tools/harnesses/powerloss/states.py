"""Which of all that a disk may have kept is looked at."""

from . import recording

# Where there are no more pieces than these, every combination of them is taken.
FEW = 6


def situations(disk, events):
    """Plays the events, and stops wherever more is under way than ever before or after: (acknowledged, pieces).

    What may be there at any other moment may be there at one of these too: what is under way is only ever settled by a
    synchronisation, and a command's end only adds to what must be there.
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
    """How many states of each moment, of which so many pieces are under way: what few have goes to the others."""
    found, left = [0] * len(counts), wanted
    for rank, index in enumerate(sorted(range(len(counts)), key=counts.__getitem__)):
        found[index] = min(2 << min(counts[index], 40), left // (len(counts) - rank))
        left -= found[index]
    return found


def choices(pieces, chance):
    """Sets of pieces without end, the telling ones first: (pieces, what stands where nothing was written)."""
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
    """Some of the writes, one of them perhaps torn; or some of the sectors."""
    likely = chance.choice((0.1, 0.5, 0.9))
    kind = chance.randrange(3)
    whole = {write for write in writes if chance.random() < likely}
    torn = chance.choice(writes) if kind == 1 else None

    def is_there(piece):
        # A file without a name shows nothing of what was written to it.
        if piece.names:
            return chance.random() < 0.8
        if kind == 0:
            return chance.random() < likely
        return chance.random() < 0.5 if piece.write == torn else piece.write in whole

    return {piece for piece in pieces if is_there(piece)}
