"""Errors of a store, one for each thing that the caller can do about them."""


class StoreError(Exception):
    """Opening or reading failed. Its message holds no text, title, key or other content of a document."""

    kind = "damaged"
    exit_code = 20


class NotAStore(StoreError):
    kind = "not-a-store"
    exit_code = 10


class CannotUnlock(StoreError):
    kind = "cannot-unlock"
    exit_code = 12


class Newer(StoreError):
    kind = "newer"
    exit_code = 15


class Refused(StoreError):
    """Refused before any work with keys: a schema that is not ours, or parameters out of bounds."""

    kind = "refused"


class TestRefused(Refused):
    """A TEST store or key where none is allowed, or a test key for a store that is not one."""

    exit_code = 16


class Damaged(StoreError):
    pass


class NoSuchFile(StoreError):
    """A file of a release folder is missing."""

    kind = "no-such-file"
    exit_code = 10


class KeyNeeded(StoreError):
    kind = "key-needed"
    exit_code = 13


class NotApplicable(StoreError):
    """A copy lacks what an update builds on."""

    kind = "invalid-argument"
    exit_code = 1


class RolledBack(StoreError):
    kind = "rolled-back"
    exit_code = 21


class Mismatch(StoreError):
    kind = "mismatch"
    exit_code = 21


class RekeyUnfinished(Mismatch):
    kind = "rekey-unfinished"


class NotProved(Mismatch):
    kind = "descent-not-proved"
