"""FORMAT, "Verify": the faults of a whole store, each a sentence."""

from collections import Counter

from . import attachments, indexes
from .attachments import AttachmentRow
from .errors import Newer, StoreError
from .primitives import SetHash
from .records import INLINE_LIMIT, RecordRow, fold
from .sealedrows import CollectionRow, DeletionRow

# A body in two places, in none, or in the one where its length does not belong.
_MISPLACED = f"""
SELECT r.id FROM coffer_record r NOT INDEXED LEFT JOIN coffer_body b ON b.id = r.id
WHERE (r.body IS NULL) = (b.id IS NULL) OR typeof(r.body) NOT IN ('null', 'blob')
OR length(r.body) NOT BETWEEN 8 AND {INLINE_LIMIT} OR typeof(b.ct) NOT IN ('null', 'blob')
OR length(b.ct) <= {INLINE_LIMIT}
"""


def set_hash_problems(store):
    """The differences from the state: the verdict "mismatch"."""
    sums, counts, problems = SetHash(), Counter(), []
    for what, kind, rows in _tables(store):
        for values in rows:
            counts[what] += 1
            try:
                sums.add(kind(values, store.context).element_hash())
            except StoreError as error:
                problems.append(f"no element of the set: {error}")
    wanted_counts = {
        "document": store.state.count, "deletion": store.state.gone_count, "attachment": store.state.attachment_count}
    for what, wanted in wanted_counts.items():
        if counts[what] != wanted:
            problems.append(f"{counts[what]} {what}s, and the state counts {wanted}")
    if sums.total() != store.state.set_hash:
        problems.append("the set hash differs: rows are missing, changed or older")
    return problems


def _tables(store):
    return (
        ("document", RecordRow, store.record_rows()), ("collection", CollectionRow, store.collection_rows()),
        ("deletion", DeletionRow, store.deletion_rows()), ("attachment", AttachmentRow, store.attachment_rows()))


def quick_problems(store):
    """The faults found in all rows without opening them, except for set hash and counts."""
    problems = [bytes(row[0]).decode("utf-8", "replace") for row in store.rows("PRAGMA integrity_check")]
    if problems == ["ok"]:
        problems = []
    copies = [copy for (copy,) in store.rows("SELECT copy FROM coffer_spare")]
    if copies != [store.header.spare] or type(copies[0]) is not bytes:
        problems.append("the spare copy of the header is not the header's")
    for what, sql in {
        "its body is missing, or not in its place": _MISPLACED,
        "body without a record": "SELECT id FROM coffer_body WHERE id NOT IN (SELECT id FROM coffer_record)",
    }.items():
        problems += [f"document {id}: {what}" for (id,) in store.rows(sql)]
    for what, kind, rows in _tables(store):
        last = 0
        for values in rows:
            # The set hash does not see 2^16 equal rows.
            if values[0] <= last:
                problems.append(f"{what} {values[0]}: numbers do not rise")
            last = values[0]
            try:
                row = kind(values, store.context)
                if kind is RecordRow:
                    row.check_epoch()
            except StoreError as error:
                problems.append(str(error))
    return problems + attachments.quick_problems(store)


def deep_problems(store):
    """Every row, text, content, lookup and listing opened; raises Newer where a deletion is the only fault."""
    problems, documents, newer = [], {}, []
    collections = _opened(store.collection_rows(), CollectionRow, store, problems, newer)
    deletions = _opened(store.deletion_rows(), DeletionRow, store, problems, newer)
    attached = _opened(store.attachment_rows(), AttachmentRow, store, problems, newer)
    problems += attachments.deep_problems(store, attached.values())
    for values in store.record_rows():
        try:
            row, head, _ = store.verified_document(values)
            documents[row.id] = row, head
            problems += _key_problems(row, head, collections)
        except StoreError as error:
            problems.append(str(error))
    problems += _twice([collection.uid for collection in collections.values()], "collections")
    uids = [head.uid for _, head in documents.values()]
    uids += [one.uid for one in (*deletions.values(), *attached.values())]
    problems += _twice(uids, "documents, deletions or attachments")
    problems += [*_parent_problems(store, documents)]
    problems += _dot_problems(store.replicas.vector, documents, collections, deletions, attached)
    stored = Counter(values[1] for values in store.record_rows())
    for coll in collections:
        try:
            if len(store.order(coll)) != stored[coll]:
                problems.append(f"collection {coll}: the index hides documents")
        except StoreError as error:
            problems.append(str(error))
    problems = list(dict.fromkeys(problems + indexes.problems(store)))
    if newer and not problems:
        raise newer[0]
    return problems


def _opened(rows, kind, store, problems, newer):
    """The rows' contents by number; faults go to `problems`, and errors of newer rows to `newer`."""
    found = {}
    for values in rows:
        try:
            found[values[0]] = kind(values, store.context).open()
        except Newer as error:
            newer.append(error)
        except StoreError as error:
            problems.append(str(error))
    return found


def _parent_problems(store, documents):
    """A column names the document that the head names, or none that there is; NULL is allowed for any head."""
    stored = {values[0] for values in store.record_rows()}
    uids = {head.uid for _, head in documents.values()}
    for id, (row, head) in documents.items():
        if row.parent is None:
            continue
        if row.parent in documents:
            parent, its_head = documents[row.parent]
            is_allowed = parent.coll == row.coll and its_head.uid == head.parent
        else:
            # Of a parent that can't be read the uid isn't known.
            is_allowed = head.parent is not None and (row.parent in stored or head.parent not in uids)
        if not is_allowed:
            yield f"document {id}: not the parent that its head names"


def _dot_problems(vector, documents, collections, deletions, attached):
    found = {f"document {id}": head.dots.all() for id, (_, head) in documents.items()}
    found |= {f"collection {coll}": collection.dots.all() for coll, collection in collections.items()}
    found |= {f"deletion {gone}": [*deletion.dots, deletion.stamp] for gone, deletion in deletions.items()}
    found |= {f"attachment {number}": [one.born, one.name_dot] for number, one in attached.items()}
    return [
        f"{what}: a dot that the vector does not cover" for what, dots in found.items()
        if not all(map(vector.covers, dots))]


def _twice(uids, what):
    return [f"two {what} have one uid" for count in Counter(uids).values() if count > 1]


def _key_problems(row, head, collections):
    if row.coll not in collections:
        return [f"document {row.id}: its collection is gone"]
    if head.key is None:
        return []
    try:
        key = fold(head.key) if collections[row.coll].folding else head.key
    except UnicodeDecodeError:
        return [f"document {row.id}: a folded key that is not UTF-8"]
    return [] if row.keys.lookup(row.coll, key) == row.lookup else [f"document {row.id}: not found by its key"]
