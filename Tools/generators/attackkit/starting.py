"""What all sound stores of the kit begin with."""

from .secrets import KEY, PASSPHRASE, RECIPIENT, value
from .writer import Writer

FOLDED = b'{"folding":1,"title":1}'


def usual_slots(writer):
    writer.add_key_file(value(KEY), b"key file", slot=1)
    writer.add_passphrase(value(PASSPHRASE), b"words", slot=2)
    writer.add_recipient(value(RECIPIENT), "Empf\u00e4nger".encode(), slot=3)


def created(seed, slots=usual_slots, **options):
    """A new store, not yet committed."""
    writer = Writer(seed, **options)
    slots(writer)
    return writer


def started(name, *arguments, **options):
    """A committed store, and a first collection that is not."""
    writer = created(*arguments, **options).commit()
    writer.add_collection(1, name)
    return writer


def only_key(writer):
    writer.add_key_file(value(KEY), b"key file")
