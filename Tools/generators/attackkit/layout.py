"""Store layout, from FORMAT.md alone: schema texts, set hash, extension parts, ring of recent generations, state, replicas.

Kept apart from the second reader's own tables, so that the two check each other.
"""

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from storereader.primitives import u8, u32, u64

FORMAT = 3
APPLICATION_ID = 0x434F4652
SCHEMA = (
    "CREATE TABLE coffer_header(one INTEGER PRIMARY KEY CHECK(one=1),format INTEGER NOT NULL,store_id BLOB NOT NULL,"
    "incompat INTEGER NOT NULL,ro_compat INTEGER NOT NULL,compat INTEGER NOT NULL,titles INTEGER NOT NULL,"
    "rk_generation INTEGER NOT NULL,phase INTEGER NOT NULL,rk_commit BLOB NOT NULL,keyring BLOB NOT NULL,"
    "mac BLOB NOT NULL) STRICT",
    "CREATE TABLE coffer_spare(one INTEGER PRIMARY KEY CHECK(one=1),copy BLOB NOT NULL) STRICT",
    "CREATE TABLE coffer_slot(slot INTEGER PRIMARY KEY,kind INTEGER NOT NULL,label TEXT NOT NULL,"
    "params BLOB NOT NULL,wrapped BLOB NOT NULL) STRICT",
    "CREATE TABLE coffer_state(one INTEGER PRIMARY KEY CHECK(one=1),sealed BLOB NOT NULL) STRICT",
    "CREATE TABLE coffer_replica(one INTEGER PRIMARY KEY CHECK(one=1),restored INTEGER NOT NULL,"
    "sealed BLOB NOT NULL) STRICT",
    "CREATE TABLE coffer_collection(coll INTEGER PRIMARY KEY,rev INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT",
    "CREATE TABLE coffer_gone(gone INTEGER PRIMARY KEY,rev INTEGER NOT NULL,sealed BLOB NOT NULL) STRICT",
    "CREATE TABLE coffer_record(id INTEGER PRIMARY KEY,coll INTEGER NOT NULL,epoch INTEGER NOT NULL,"
    "rev INTEGER NOT NULL,pos BLOB NOT NULL,parent INTEGER,flags INTEGER NOT NULL,lookup BLOB,title TEXT,"
    "head BLOB NOT NULL,body_nt BLOB NOT NULL,body BLOB) STRICT",
    "CREATE TABLE coffer_body(id INTEGER PRIMARY KEY,ct BLOB NOT NULL) STRICT",
    "CREATE UNIQUE INDEX coffer_record_lookup ON coffer_record(coll,lookup) WHERE lookup IS NOT NULL AND flags<2",
    "CREATE INDEX coffer_record_held ON coffer_record(coll,lookup) WHERE flags>=2",
    "CREATE INDEX coffer_record_pos ON coffer_record(coll,pos,id,title)",
    "CREATE INDEX coffer_record_parent ON coffer_record(parent) WHERE parent IS NOT NULL",
)
ATTACHMENT_SCHEMA = (
    "CREATE TABLE coffer_attachment(attachment INTEGER PRIMARY KEY,id INTEGER NOT NULL,rev INTEGER NOT NULL,"
    "sealed BLOB NOT NULL) STRICT",
    "CREATE TABLE coffer_chunk(chunk INTEGER PRIMARY KEY,ct BLOB NOT NULL) STRICT",
    "CREATE INDEX coffer_attachment_id ON coffer_attachment(id)",
)
# Bits of incompat.
TEST, PADDED, ATTACHMENTS = 1, 2, 4
RECORD_COLUMNS = "id,coll,epoch,rev,pos,parent,flags,lookup,title,head,body_nt,body"
# Flags: the text is the JSON of a value; another document of the collection holds the key.
IS_VALUE, HELD_ELSEWHERE = 1, 2
# The longest frame of a body in its row.
BODY_IN_ROW = 2048
SET_HASH_SIZE = 2048
# Ring and extension part share the state's bytes behind the ring's length.
STATE_SIZE, RING_START = 8113, 2240
# The greatest extension parts: of heads, collections and attachments, and elsewhere.
EXTENSION_SIZE, SMALL_EXTENSION_SIZE, REPLICAS_EXTENSION_SIZE = 65_536, 300, 1_048_576
# The marks of a replica: as many, and of each the first bytes.
MARKS, MARK_SIZE = 32, 8
# Chunk i of an attachment has the number attachment * CHUNK_NUMBERS + i; the greatest next attachment.
CHUNK_NUMBERS, LAST_ATTACHMENT = 2**24, 2**39
# The greatest generation, rev and counter of a dot.
LAST_GENERATION = 2**48 - 1
# The bit of an entry's type that makes what it belongs to newer for a reader that does not know the type.
MUST_UNDERSTAND = 0x8000

# Kinds of the ring's entries.
INSERTED, TEXT, DETAILS, MOVED, DELETED, COLLECTION, EVERYTHING = range(1, 8)

_LOW = int.from_bytes(b"\xff\xff\0\0" * (SET_HASH_SIZE // 4), "little")


def lanes(element_key):
    """The 1,024 lanes of one element, as one little-endian number."""
    encryptor = Cipher(algorithms.AES(element_key), modes.CTR(bytes(16))).encryptor()
    return int.from_bytes(encryptor.update(bytes(SET_HASH_SIZE)), "little")


def add_lanes(first, second):
    """The sum lane by lane, modulo 2^16; every second lane at a time, so that carries have room."""
    even = (first & _LOW) + (second & _LOW) & _LOW
    odd = (first >> 16 & _LOW) + (second >> 16 & _LOW) & _LOW
    return even | odd << 16


def extension_entry(kind, data=b""):
    return kind.to_bytes(2, "big") + u32(len(data)) + data


def extension_part(entries):
    """The extension part of entries by type; bytes, of a forged one, stay as they are."""
    if isinstance(entries, bytes):
        return entries
    return b"".join(extension_entry(kind, entries[kind]) for kind in sorted(entries))


def ring_size(extension):
    """The bytes that an extension part of the state leaves to the ring."""
    return STATE_SIZE - RING_START - len(extension_part(extension))


def varint(value):
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(data) + u8(value)


def ranges(ids):
    """Sorted ids as a list of [first, last]."""
    found = []
    for id in sorted(ids):
        if found and found[-1][1] == id - 1:
            found[-1][1] = id
        else:
            found.append([id, id])
    return found


def ring_entry(kind, coll=None, ids=()):
    if kind == EVERYTHING:
        return u8(kind)
    data = u8(kind) + varint(coll)
    if kind == COLLECTION:
        return data
    pairs, end = ranges(ids), 0
    data += varint(len(pairs))
    for first, last in pairs:
        data += varint(first - end) + varint(last - first)
        end = last + 1
    return data


def ring_generation(mark_before, changes, size=STATE_SIZE - RING_START):
    """One generation's record; `changes` maps (kind, collection) to ids. A record that does not fit an empty ring of
    this size becomes one entry "everything"."""
    entries = [ring_entry(kind, coll, changes[kind, coll]) for kind, coll in sorted(changes)]
    record = mark_before[:16] + len(entries).to_bytes(2, "big") + b"".join(entries)
    if len(record) <= size:
        return record, changes
    return mark_before[:16] + b"\0\x01" + ring_entry(EVERYTHING), {(EVERYTHING, None): ()}


def state_plain(generation, next_id, bound, count, gone_count, set_hash, target, cursor, header_mac, lead, replicas_digest,
                unwiped, next_attachment, attachment_count, index_identities, known, ring, extension=b"", ring_length=None):
    size = ring_size(extension)
    return (
        u64(generation) + u64(next_id) + u64(bound) + u64(count) + u64(gone_count) + set_hash + u32(target) + u64(cursor)
        + header_mac + u64(lead) + replicas_digest + u64(unwiped) + u64(next_attachment) + u64(attachment_count)
        + index_identities + u64(known) + u32(size if ring_length is None else ring_length) + ring.ljust(size, b"\0")
        + extension_part(extension)
    )


def replica(identity, counter, range, rose, marks=()):
    """`marks` are pairs of a counter and 8 bytes."""
    data, last = identity + varint(counter) + varint(range) + varint(rose) + u8(len(marks)), 0
    for number, mark in marks:
        data, last = data + varint(number - last) + mark, number
    return data


def replicas_plain(own, replicas, extension=b""):
    """`replicas` are encoded ones."""
    return u32(own) + u32(len(replicas)) + b"".join(replicas) + extension_part(extension)
