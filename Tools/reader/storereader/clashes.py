"""What merges leave to be settled by readers: equal names, equal keys, and the parents that heads name."""


def names(collections, vector):
    """The names that collections are read by, by number."""
    order = sorted(collections, key=lambda one: (*vector.order(one.dots.name), one.uid))
    found, taken = {}, set()
    for collection in order:
        if collection.name not in taken:
            found[collection.coll] = collection.name
            taken.add(collection.name)
    for collection in order:
        if collection.coll not in found:
            name = f"{collection.name}~{collection.uid.hex()[:8]}"
            while name in taken:
                name += "~"
            found[collection.coll] = name
            taken.add(name)
    return found


def holder(heads, vector):
    """The number of the document that holds a key which all of these have, {id: head}."""
    return min(heads, key=lambda id: (*vector.order(heads[id].dots.key), heads[id].uid))


def parents(documents, vector):
    """The `parent` columns of documents, {id: (coll, head)}, as their heads require, by id."""
    ids = {head.uid: id for id, (_, head) in documents.items()}
    found = {}
    for id, (coll, head) in documents.items():
        parent = ids.get(head.parent)
        found[id] = parent if parent is not None and documents[parent][0] == coll else None
    for cycle in _cycles(found):
        first = max(cycle, key=lambda id: (*vector.order(documents[id][1].dots.place), documents[id][1].uid))
        found[first] = None
    return found


def _cycles(parents):
    """The cycles of a graph in which each node has at most one parent."""
    seen = set()
    for start in parents:
        path, id = {}, start
        while id is not None and id not in seen:
            seen.add(id)
            path[id] = len(path)
            id = parents[id]
        if id in path:
            yield [one for one, place in path.items() if place >= path[id]]
