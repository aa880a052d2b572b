"""The published part of the kit: small, with enough attacks of every kind to test a reader of the format."""

import fnmatch
import io
import lzma
import shutil
import tarfile

from .kit import Kit

# Stores that take a hundred kilobytes each, or are similar to others.
LEFT_OUT = {
    "greatest-head", "replicas-4096", "long-title-rekeyed", "long-titles", "long-titles-clear", "ring-full", "clear-to-none",
    "sealed-to-clear", "rekeyed-twice", "attachments-64-keys", "attachments-other",
    # The bytes of their inner databases depend on the version of SQLite.
    "indexed", "indexed-earlier", "indexed-declared", "indexed-dropped", "indexed-other", "indexed-large"}
LARGE = (
    "expression-*", "*-huge", "*over-limit", "*2000000-bytes", "schema-crowd-*", "schema-tolerated-crowd", "*statistics-not-text",
    "slots-5000", "forged-replicas-409?", "forged-replicas-greatest", "forged-sound-dots-member*-long", "forged-attachment-sound-1048577-*",
    "forged-attachment-sound-entry", "*-6553?*", "forged-chunk-of-padding-alone*", "*attributes-deep", "*-of-rollback", "file-user-version-*est", "index-shifted",
    "roots-swapped-coffer_s*", "sealed-index-*")
# Names or patterns of the published members of large families, some of each sort; all other stores are published.
FAMILIES = """
row-: coll-other coll-unknown epoch-unknown epoch-2-to-31 rev-* pos-next pos-least parent-planted parent-zero
  parent-to-null flags-value flags-held flags-unknown held-* lookup-to-null lookup-short lookup-planted title-planted*
  title-in-mode-none head-39-bytes head-tag head-ciphertext body-tag body-nt-39-bytes id-* clear-title-*
header-: format-1 format-2 format-4 store-id-bit store-id-15-bytes incompat-* ro-compat-unknown compat titles-* rk-generation*
  phase* rk-commit-bit keyring-tag keyring-cut keyring-of-65 mac-bit gone twice
slot-: label label-256-bytes number number-zero kind-* wrapped-zeros wrapped-47-bytes duplicated gone all-gone
  salt-zeros fingerprint forged-for-recipient
body-: *-first-byte *-cut-by-one *-empty *-next-size
place-: *-of-5 *-of-6 row-of-5-unpadded table-of-6-unpadded
collection-: rev rev-high tag ciphertext empty number number-zero
gone-: rev rev-high rev-2-to-48 tag cut 39-bytes number number-zero over-limit
attachment-: id-another id-none id-above-bound rev rev-high tag cut 47-bytes over-limit number-free number-next number-zero
  gone all-gone deletion-gone planted* of-deletion rows-exchanged older brought-back* transplanted index-* rekey-*
chunk-: first-byte cut-by-one one-more padded last-missing all-missing of-empty-missing exchanged* repeated of-removed
  transplanted one-more-behind far-behind at-next greatest zero negative left-over*
replica-: ciphertext tag cut one-more gone twice restored not-restored restored-2
class-: coll-1 epoch-3 rev-2 pos-1 pos-5 parent-1 flags-1 lookup-1 title-1 head-1 body_nt-2 body-text ct-text
  collection-rev gone-rev gone-sealed attachment-id-text attachment-sealed-null chunk-text phase-real slot-label-blob state-text replica-text mac-null
schema-: trigger-insert trigger-ours view view-by-text virtual-* table table-almost-ours table-is-view index-on-record
  index-ours-on-record changed-index-of-format-1 changed-body-* changed-column-added changed-not-strict
  changed-spare-check-taken changed-lower-case changed-generated changed-index-unique changed-index-not-unique
  changed-index-of-all-keys changed-collection-with-epoch
  without-* attachments-* tolerated-extension-table
  tolerated-litestream tolerated-statistics-that-lie twice empty
scrypt-: logn-1 logn-11 logn-15-in-test logn-255 r-9 p-5 sum salt
recipient-: ephemeral-zeros ephemeral-order-8 public-zeros params-63-bytes
external-: no-name slash shell
forged-attributes-: empty-object order twice space lone-surrogate
forged-head-: digest-of-another byte-more cut-in-dates length-less uid-gone uid-cut parent-marker-2 parent-cut
  as-of-three-stamps title-marker-2 of-other-minimum frame-codec-1 frame-padding-last
forged-body-: frame-codec-1 frame-not-padded not-utf8
forged-collection-: gone name-twice uid-another uid-cut dots-gone of-format-1 settings-order settings-order-0
  settings-attributes-empty settings-attributes-and-order settings-length-* dots-born-zero dots-name-zero dots-replica-5
  dots-mask-bit-4 dots-mask-bit-7 dots-name-ahead dots-sound-*
forged-dots-: none born-zero born-counter-zero counter-zero-of-none replica-5 key-replica-5 stamp-replica-5
  replica-2-to-32 counter-2-to-48 counter-long-form zero-in-long-form
  part-missing part-more members-none members-fall members-twice members-not-utf8 members-count-greatest
  members-length-beyond stamp-zero kept-zero as-three-stamps born-ahead text-ahead stamp-ahead counter-2-to-48-less-1
forged-deletion-: no-dots no-stamp dots-fall dot-twice dot-zero dot-counter-zero dot-long-form replica-5 stamp-zero
  stamp-ahead dots-beyond numbers-fall sound-* number-greatest frame-not-padded
forged-attachment-: name-* media-type-256-bytes media-type-space date-greatest nothing cut byte-more epoch-* length-less
  length-2-to-40* length-above length-greatest chunks-* chunk-size-zero chunk-size-above chunk-size-another digest keys-*
  dots-born-zero dots-born-ahead dots-name-replica-5 document-* newer* uid-* frame-not-padded frame-padding-last
  sound-name-* sound-media-type-255-bytes sound-4096-* sound-4097-* sound-2-*
forged-replicas-: none own-5 count-less count-more identity-twice counter-above counter-long-form range-8192 rose-above
  marks-33 marks-equal mark-above-counter mark-at-zero marks-cut byte-more one-less own-another counter-greatest
  counters-zero ranges-equal marks-32
forged-header-: compat incompat ro-compat newer older older-in-row phase-* rk-generation-* not-test slots-64
  keyring-of-64 keyring-active-not-last keyring-active-closed keyring-old-not-closed keyring-old-floor-zero
  keyring-falling keyring-of-format-1 keyring-without-family
forged-sound-: pos-greatest pos-least dots-*
forged-extension-: head-* collection-falling collection-length-beyond collection-part-1 collection-newer
  attachment-falling attachment-part-1 attachment-length-beyond deletion-falling deletion-part-1 deletion-of-301-bytes deletion-newer state-falling state-length-beyond state-part-1
  state-of-301-bytes state-newer replicas-falling replicas-part-1 replicas-newer
forged-state-: attachment-count-more attachment-count-2-to-39 attachment-count-negative
  attachment-count-without-tables attachments-forgotten next-attachment-*
  bound-greatest bound-high bound-low count-more cursor-without-target generation-above generation-greatest
  generation-low gone-count-more gone-count-zero header-mac lead-above lead-falls lead-greatest lead-wrapping
  next-id-greatest next-id-taken of-4279-bytes of-8112-bytes replicas-digest-zeros
  set-hash-lane target-unknown unwiped-281474976710656 ring-behind ring-entries-fall ring-everything
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
