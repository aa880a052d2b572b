"""What merges leave to be settled by readers: equal names of collections."""


def names(collections, vector):
    """The names that listed collections are read by, by number: of equal names one is as it is stored."""
    order = sorted(collections, key=lambda one: (*vector.order_of_names(one.dots.name), one.uid))
    found, taken = {}, set()
    for collection in order:
        if collection.name not in taken:
            found[collection.coll] = collection.name
            taken.add(collection.name)
    for collection in sorted(collections, key=lambda one: one.uid):
        if collection.coll not in found:
            name = f"{collection.name}~{collection.uid.hex()[:8]}"
            while name in taken:
                name += "~"
            found[collection.coll] = name
            taken.add(name)
    return found
