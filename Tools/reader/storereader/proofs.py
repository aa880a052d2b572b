"""FORMAT, "Key files, pin, anchor": compares an open store with the lines that its user kept outside the file."""

import re
from dataclasses import dataclass

from .database import COUNTER_LIMIT
from .errors import Mismatch, NotProved, RekeyUnfinished, RolledBack
from .state import MARK_START

_PIN = re.compile(r"coffer-pin-3-([0-9a-f]{32})([0-9a-f]{16})([0-9a-f]{16})([0-9a-f]{64})")
_ANCHOR = re.compile(
    r"coffer3:([0-9a-f]{32}):([1-9][0-9]{0,18}):([1-9][0-9]{0,18}):([1-9][0-9]{0,18}):([0-9a-f]{64}):([0-9a-f]{64})")


@dataclass(frozen=True)
class _Keys:
    """The part that pin and anchor share."""

    store_id: str
    rk_generation: int
    phase: int
    commitment: str

    def __post_init__(self):
        if not all(1 <= number <= COUNTER_LIMIT for number in (self.rk_generation, self.phase)):
            raise ValueError("a pin or anchor with a number out of its range")

    def check_store(self, store):
        if self.store_id != store.header.store_id.hex():
            raise Mismatch("another store")
        if self.rk_generation > store.header.rk_generation:
            raise RolledBack("the store has an older root key")

    def fits(self, store):
        """Whether the root key made this commitment, for its own phase."""
        return store.commitment(self.phase).hex() == self.commitment


def check_pin(store, text):
    match = _PIN.fullmatch(text)
    if not match:
        raise ValueError("not a pin")
    pin, header = _Keys(match[1], int(match[2], 16), int(match[3], 16), match[4]), store.header
    pin.check_store(store)
    if pin.rk_generation < header.rk_generation:
        raise Mismatch("the root key is not the pin's")
    if pin.phase > header.phase:
        if store.state.target and pin.fits(store):
            raise RekeyUnfinished("the pin is of the end of a rekey that is under way")
        raise RolledBack("the store is older than its pin")
    if not pin.fits(store):
        raise Mismatch("the root key is not the pin's")


def check_anchor(store, line, descends=False, is_new_key_known=False):
    """Gives "same", "newer" where descent is proved, or "newer, descent not proved".

    descends: refuses the last of them. is_new_key_known: whether a pin fits.
    """
    match = _ANCHOR.fullmatch(line)
    if not match:
        raise ValueError("not an anchor line")
    anchor, header, state = _Keys(match[1], int(match[2]), int(match[3]), match[5]), store.header, store.state
    generation, mark = int(match[4]), bytes.fromhex(match[6])
    if generation > COUNTER_LIMIT:
        raise ValueError("an anchor with a number out of its range")
    anchor.check_store(store)
    if anchor.rk_generation < header.rk_generation:
        if not is_new_key_known:
            raise Mismatch("another root key than the anchor's: the new pin is needed")
        if generation >= state.generation:
            raise RolledBack("the store is older than its anchor")
        return _not_proved(descends)
    if anchor.phase > header.phase:
        raise RolledBack("the store is older than its anchor")
    if not anchor.fits(store):
        raise Mismatch("the root key is not the anchor's")
    if generation > state.generation:
        raise RolledBack("the store is older than its anchor")
    if generation == state.generation:
        if mark != store.mark:
            raise Mismatch("the store is not the one that was anchored")
        return "same"
    known = state.mark_start(generation)
    if known is None:
        return _not_proved(descends)
    if known != mark[:MARK_START]:
        raise Mismatch("the store does not descend from the one that was anchored")
    return "newer"


def _not_proved(descends):
    if descends:
        raise NotProved("newer than the anchor, and descent from it is not proved")
    return "newer, descent not proved"
