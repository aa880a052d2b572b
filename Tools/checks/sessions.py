"""Runs commands, and an ordinary session with an installed dbtool, for check-artifacts and check-install."""

import subprocess

from helptree import Refused


def run(command, expected=0, **options):
    words = list(map(str, command))
    result = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
    if result.returncode != expected:
        raise Refused(f"{' '.join(words)}: exit {result.returncode}\n{result.stdout}{result.stderr}".rstrip())
    return result.stdout


def use(dbtool, folder):
    """A session with an empty environment: no PATH, no home."""
    def tool(*words, expected=0):
        return run([dbtool, *words], expected, env={}, cwd=folder)

    folder.mkdir()
    (folder / "phrases.txt").write_bytes("title\ttext\nGreeting\tПривет\n".encode("utf-16"))
    tool("keygen", "my.key")
    tool("import", "texts.coffer", "phrases.txt", "--create", "--key-file", "my.key")
    if tool("ls", "texts.coffer", "--key-file", "my.key").split("\t")[1] != "Greeting":
        raise Refused(f"{dbtool} lists another title than it imported")
    if tool("show", "texts.coffer", "1", "--key-file", "my.key") != "Привет":
        raise Refused(f"{dbtool} shows another text than it imported")
    tool("verify", "texts.coffer", "--key-file", "my.key")
    tool("ls", "missing.coffer", expected=10)
