"""The parts that the checks share: the project's files, planted cases of a self-test, and the command line.

A check finds problems, each a line of text. Its self-test gives it planted cases, both sound and faulty.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = Path(sys.argv[0]).name


def tracked(root=ROOT, *patterns):
    """Returns the names of all files that Git tracks or doesn't ignore, sorted."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns], check=True,
        capture_output=True, text=True)
    return sorted(name for name in set(listed.stdout.split("\0")) if name and (root / name).is_file())


def plant(root, files):
    """Writes `files`, {path: text}, below a folder."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def judged(planted, find):
    """Calls `find(*case)` for each planted (*case, is_faulty) and returns 1 if a verdict is wrong."""
    wrong = 0
    for *case, is_faulty in planted:
        found = list(find(*case))
        if bool(found) != is_faulty:
            wrong += 1
            print(f"{NAME}: self-test: {found or 'accepted'}: {case!r}")
    print(f"{NAME}: self-test: {len(planted) - wrong} of {len(planted)} cases judged correctly")
    return 1 if wrong else 0


def run(check, self_test, *parameters):
    """Runs `NAME [--self-test] PARAMETER...`, paths of files that exist.

    `check` returns the problems, and a summary of what it read; `self_test` returns an exit code.
    """
    arguments = sys.argv[1:]
    is_self_test = arguments[:1] == ["--self-test"]
    arguments = arguments[is_self_test:]
    if len(arguments) != len(parameters) or any(argument.startswith("-") for argument in arguments):
        print(f"usage: {' '.join([NAME, '[--self-test]', *parameters])}", file=sys.stderr)
        sys.exit(64)
    for argument in arguments:
        if not Path(argument).is_file():
            sys.exit(f"{NAME}: {argument} doesn't exist")
    arguments = [Path(argument).resolve() for argument in arguments]
    if is_self_test:
        sys.exit(self_test(*arguments))
    problems, summary = check(*arguments)
    for problem in problems:
        print(f"{NAME}: {problem}")
    print(f"{NAME}: {summary}, {len(problems)} problems")
    sys.exit(1 if problems else 0)
