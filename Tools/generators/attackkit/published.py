"""The published part of the kit: enough of every kind to hold a reader to the format, and small."""

import fnmatch
import io
import lzma
import shutil
import tarfile

from .kit import Kit

# Shapes that take a hundred kilobytes each, or are much like others.
LEFT_OUT = {
    "greatest-head", "long-title-rekeyed", "long-titles", "long-titles-clear", "ring-full", "clear-to-none", "sealed-to-clear",
    "rekeyed-twice"}
LARGE = (
    "*-huge", "*over-limit", "*2000000-bytes", "schema-crowd-*", "schema-tolerated-crowd", "*statistics-not-text",
    "slots-5000", "*-6553?*", "*attributes-deep", "*-of-rollback", "file-user-version-*est", "index-shifted", "roots-swapped-coffer_s*")
# Of the large families, some of each sort; everything else is published.
FAMILIES = {
    "row-*": (
        "row-coll-other", "row-coll-unknown", "row-epoch-unknown", "row-epoch-2-to-31", "row-rev-*", "row-pos-next", "row-pos-least",
        "row-parent-planted", "row-parent-zero", "row-parent-to-null", "row-flags-value", "row-flags-unknown", "row-lookup-to-null",
        "row-lookup-short", "row-lookup-planted", "row-title-planted*", "row-title-in-mode-none", "row-head-39-bytes", "row-head-tag",
        "row-head-ciphertext", "row-body-tag", "row-body-nt-39-bytes", "row-id-*", "row-clear-title-*"),
    "header-*": (
        "header-format-1", "header-format-3", "header-store-id-bit", "header-store-id-15-bytes", "header-incompat-*", "header-ro-compat-unknown",
        "header-compat", "header-titles-*", "header-rk-generation*", "header-phase*", "header-rk-commit-bit", "header-keyring-tag",
        "header-keyring-cut", "header-keyring-of-65", "header-mac-bit", "header-gone", "header-twice"),
    "slot-*": (
        "slot-label", "slot-label-256-bytes", "slot-number", "slot-number-zero", "slot-kind-*", "slot-wrapped-zeros", "slot-wrapped-47-bytes",
        "slot-duplicated", "slot-gone", "slot-all-gone", "slot-salt-zeros", "slot-fingerprint", "slot-forged-for-recipient"),
    "body-*": ("body-*-first-byte", "body-*-cut-by-one", "body-*-empty", "body-*-next-size"),
    "place-*": ("place-*-of-5", "place-*-of-6", "place-row-of-5-unpadded", "place-table-of-6-unpadded"),
    "collection-*": (
        "collection-epoch", "collection-rev", "collection-rev-high", "collection-tag", "collection-ciphertext", "collection-empty",
        "collection-number", "collection-number-zero"),
    "class-*": (
        "class-coll-1", "class-epoch-3", "class-rev-2", "class-parent-1", "class-flags-1", "class-lookup-1", "class-title-1",
        "class-head-1", "class-body_nt-2", "class-body-text", "class-ct-text", "class-collection-rev", "class-phase-real",
        "class-slot-label-blob", "class-state-text", "class-mac-null"),
    "schema-*": (
        "schema-trigger-insert", "schema-trigger-ours", "schema-view", "schema-view-by-text", "schema-virtual-*", "schema-table",
        "schema-table-almost-ours", "schema-table-is-view", "schema-index-on-record", "schema-index-ours-on-record",
        "schema-changed-index-of-format-1", "schema-changed-body-*", "schema-changed-column-added", "schema-changed-not-strict",
        "schema-changed-spare-check-taken", "schema-changed-lower-case", "schema-changed-generated", "schema-without-*",
        "schema-tolerated-extension-table", "schema-tolerated-litestream", "schema-tolerated-statistics-that-lie", "schema-twice", "schema-empty"),
    "scrypt-*": ("scrypt-logn-1", "scrypt-logn-11", "scrypt-logn-15-in-test", "scrypt-logn-255", "scrypt-r-9", "scrypt-p-5", "scrypt-sum", "scrypt-salt"),
    "recipient-*": ("recipient-ephemeral-zeros", "recipient-ephemeral-order-8", "recipient-public-zeros", "recipient-params-63-bytes"),
    "external-*": ("external-no-name", "external-slash", "external-shell"),
    "forged-attributes-*": ("*-empty-object", "*-order", "*-twice", "*-space", "*-lone-surrogate"),
    "forged-head-*": ("*-byte-more", "*-cut-in-dates", "*-length-less", "*-stamps-gone", "*-uid-cut", "*-title-marker-2", "*-of-other-minimum", "*-frame-codec-1", "*-frame-padding-last"),
    "forged-body-*": ("*-frame-codec-1", "*-frame-not-padded", "*-not-utf8"),
    "forged-born-*": ("*-0", "*-4611686018427387904", "*-4611686018427387905"),
    "forged-edited-*": ("*-0",), "forged-placed-*": ("*-0",),
    "forged-collection-*": ("*-born-0", "*-edited-4611686018427387905", "*-gone", "*-name-twice", "*-of-format-1", "*-settings-order"),
    "forged-header-*": (
        "*-compat", "*-incompat", "*-ro-compat", "*-newer", "*-older", "*-older-in-row", "*-phase-*", "*-rk-generation-*", "*-not-test",
        "*-slots-64", "*-keyring-of-64", "*-keyring-active-not-last", "*-keyring-active-closed", "*-keyring-old-not-closed",
        "*-keyring-old-floor-zero", "*-keyring-falling", "*-keyring-of-format-1"),
    "forged-sound-*": ("*-pos-least", "*-parent-cycle"),
    "forged-state-*": (
        "*-count-more", "*-cursor-without-target", "*-extensions", "*-generation-above", "*-generation-greatest", "*-generation-low",
        "*-header-mac", "*-next-id-low", "*-next-id-greatest", "*-of-4278-bytes", "*-origin-kind-3", "*-origin-none-with-mark",
        "*-origin-phase-zero", "*-set-hash-lane", "*-target-unknown", "*-unwiped-4611686018427387905",
        "*-ring-behind", "*-ring-entries-fall", "*-ring-everything", "*-ring-everything-and-more", "*-ring-first-gap-zero", "*-ring-gap-zero",
        "*-ring-id-greatest", "*-ring-kind-8", "*-ring-known-above", "*-ring-known-one", "*-ring-emptied", "*-ring-no-ranges", "*-ring-ranges-beyond",
        "*-ring-varint-long-form"),
}


def is_published(attack):
    if any(fnmatch.fnmatch(attack.name, pattern) for pattern in LARGE):
        return False
    for family, members in FAMILIES.items():
        if fnmatch.fnmatch(attack.name, family):
            return any(fnmatch.fnmatch(attack.name, member) for member in members)
    return True


def publish(folder, seed, preset=9 | lzma.PRESET_EXTREME):
    """Writes the vectors; gives the names of the attacks."""
    kit = Kit(folder, seed)
    kit.stores = {name: writer for name, writer in kit.stores.items() if name not in LEFT_OUT}
    names = kit.write(is_published)
    (folder / "attacks.tar.xz").write_bytes(lzma.compress(archive(folder / "attacks", names), preset=preset))
    for path in (folder / "attacks").iterdir():
        if path.suffix != ".json":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return names


def archive(folder, names):
    """Stores and folders of attacks as a tar, the same bytes whoever makes it and when."""

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
