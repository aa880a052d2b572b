"""The published part of the kit: small, with enough attacks of every kind to test a reader of the format."""

import fnmatch
import io
import lzma
import shutil
import tarfile

from .kit import Kit

# Stores that take a hundred kilobytes each, or are similar to others.
LEFT_OUT = {
    "greatest-head", "long-title-rekeyed", "long-titles", "long-titles-clear", "ring-full", "clear-to-none",
    "sealed-to-clear", "rekeyed-twice",
    # The bytes of their inner databases depend on the version of SQLite.
    "indexed", "indexed-earlier", "indexed-other", "indexed-large"}
LARGE = (
    "*-huge", "*over-limit", "*2000000-bytes", "schema-crowd-*", "schema-tolerated-crowd", "*statistics-not-text",
    "slots-5000", "*-6553?*", "*attributes-deep", "*-of-rollback", "file-user-version-*est", "index-shifted",
    "roots-swapped-coffer_s*", "sealed-index-*")
# Names or patterns of the published members of large families, some of each sort; all other stores are published.
FAMILIES = """
row-: coll-other coll-unknown epoch-unknown epoch-2-to-31 rev-* pos-next pos-least parent-planted parent-zero
  parent-to-null flags-value flags-unknown lookup-to-null lookup-short lookup-planted title-planted*
  title-in-mode-none head-39-bytes head-tag head-ciphertext body-tag body-nt-39-bytes id-* clear-title-*
header-: format-1 format-2 format-4 store-id-bit store-id-15-bytes incompat-* ro-compat-unknown compat titles-* rk-generation*
  phase* rk-commit-bit keyring-tag keyring-cut keyring-of-65 mac-bit gone twice
slot-: label label-256-bytes number number-zero kind-* wrapped-zeros wrapped-47-bytes duplicated gone all-gone
  salt-zeros fingerprint forged-for-recipient
body-: *-first-byte *-cut-by-one *-empty *-next-size
place-: *-of-5 *-of-6 row-of-5-unpadded table-of-6-unpadded
collection-: epoch rev rev-high tag ciphertext empty number number-zero
class-: coll-1 epoch-3 rev-2 pos-1 pos-5 parent-1 flags-1 lookup-1 title-1 head-1 body_nt-2 body-text ct-text
  collection-rev phase-real slot-label-blob state-text mac-null
schema-: trigger-insert trigger-ours view view-by-text virtual-* table table-almost-ours table-is-view index-on-record
  index-ours-on-record changed-index-of-format-1 changed-body-* changed-column-added changed-not-strict
  changed-spare-check-taken changed-lower-case changed-generated without-* tolerated-extension-table
  tolerated-litestream tolerated-statistics-that-lie twice empty
scrypt-: logn-1 logn-11 logn-15-in-test logn-255 r-9 p-5 sum salt
recipient-: ephemeral-zeros ephemeral-order-8 public-zeros params-63-bytes
external-: no-name slash shell
forged-attributes-: empty-object order twice space lone-surrogate
forged-head-: digest-of-another byte-more cut-in-dates length-less stamps-gone uid-cut title-marker-2 of-other-minimum frame-codec-1
  frame-padding-last
forged-body-: frame-codec-1 frame-not-padded not-utf8
forged-born-: 0 4611686018427387904 4611686018427387905
forged-edited-: 0
forged-placed-: 0
forged-collection-: born-0 edited-4611686018427387905 gone name-twice of-format-1 settings-order settings-order-0
  settings-attributes-empty settings-attributes-and-order settings-length-*
forged-header-: compat incompat ro-compat newer older older-in-row phase-* rk-generation-* not-test slots-64
  keyring-of-64 keyring-active-not-last keyring-active-closed keyring-old-not-closed keyring-old-floor-zero
  keyring-falling keyring-of-format-1
forged-sound-: pos-greatest pos-least parent-cycle
forged-extension-: head-* collection-falling collection-length-beyond collection-part-1 collection-newer
  state-falling state-length-beyond state-part-1 state-of-301-bytes state-newer
forged-state-: count-more cursor-without-target generation-above generation-greatest generation-low
  header-mac next-id-low next-id-greatest of-4279-bytes of-8112-bytes origin-kind-3 origin-none-with-mark origin-phase-zero
  set-hash-lane target-unknown unwiped-4611686018427387905 ring-behind ring-entries-fall ring-everything
  ring-everything-and-more ring-first-gap-zero ring-gap-zero ring-id-greatest ring-kind-8 ring-known-above
  ring-known-one ring-length-* ring-emptied ring-no-ranges ring-ranges-beyond ring-varint-long-form
"""


def _families():
    found, stem = {}, None
    for word in FAMILIES.split():
        if word.endswith(":"):
            stem = word[:-1]
            found[stem] = []
        else:
            found[stem].append(stem + word)
    return found


def is_published(attack):
    if any(fnmatch.fnmatch(attack.name, pattern) for pattern in LARGE):
        return False
    for stem, members in _families().items():
        if attack.name.startswith(stem):
            return any(fnmatch.fnmatch(attack.name, member) for member in members)
    return True


def publish(folder, seed, preset=9 | lzma.PRESET_EXTREME):
    """Writes the vectors; gives the names of the attacks."""
    kit = Kit(folder, seed)
    names = kit.write(is_published, LEFT_OUT)
    (folder / "attacks.tar.xz").write_bytes(lzma.compress(archive(folder / "attacks", names), preset=preset))
    for path in (folder / "attacks").iterdir():
        if path.suffix != ".json":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return names


def archive(folder, names):
    """Stores and folders of attacks as a tar, the same bytes on every machine."""

    def plain(member):
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        member.mode = 0o755 if member.isdir() else 0o644
        return member

    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted(names):
            if (folder / name).is_dir():
                tar.add(folder / name, name, recursive=False, filter=plain)
                for path in sorted((folder / name).iterdir()):
                    tar.add(path, f"{name}/{path.name}", filter=plain)
            else:
                tar.add(folder / f"{name}.coffer", f"{name}.coffer", filter=plain)
    return data.getvalue()
