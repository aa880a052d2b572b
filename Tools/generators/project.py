"""What the project's files say about it: version, license, repository URL and security contact.

A placeholder has a host that ends in .invalid, which no network resolves; it counts as missing.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The sentence that only the MIT license has.
MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy"


def read(root, name):
    path = root / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def version(root=ROOT):
    match = re.search(r'^  static let version = "(.*)"$', read(root, "Sources/dbtool/dbtool.swift"), re.MULTILINE)
    return match and match[1]


def license_id(root=ROOT):
    """Returns the SPDX identifier of LICENSE, or `None` if the owner hasn't chosen a license."""
    text = read(root, "LICENSE")
    if not text.strip():
        return None
    if text.split() == read(ROOT, "Tools/licenses/Apache-2.0.txt").split():
        return "Apache-2.0"
    return "MIT" if MIT in text else "LicenseRef-Coffer"


def stated(root, name, label):
    """Returns the address in the line `LABEL: <ADDRESS>` of a page, or `None` for a placeholder."""
    found = re.findall(rf"^{label}: <(\S+)>", read(root, name), re.MULTILINE)
    if len(found) != 1 or re.search(r"\.invalid(/|$)", found[0]):
        return None
    return found[0]


def repository(root=ROOT):
    return stated(root, "README.md", "Repository")


def contact(root=ROOT):
    return stated(root, "SECURITY.md", "Security contact")
