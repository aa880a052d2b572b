"""Reads the help of a built dbtool: its verbs, their words, options and texts."""

import json
import os
import subprocess

# The parser's own verb.
BUILT_IN = {"help"}


class Refused(Exception):
    pass


class Command:
    """A verb of the help. A verb with verbs below it, such as `key`, has children."""

    def __init__(self, tree, words):
        self.words, self.abstract, self.discussion = words, tree["abstract"], tree.get("discussion", "")
        shown = [argument for argument in tree.get("arguments", []) if argument["shouldDisplay"]]
        self.positionals = [argument for argument in shown if argument["kind"] == "positional"]
        self.options = [argument for argument in shown if argument["kind"] != "positional"]
        # Those of --help-hidden, and options that do nothing.
        self.hidden = [argument for argument in tree.get("arguments", []) if not argument["shouldDisplay"]]
        self.children = [
            Command(child, [*words, child["commandName"]]) for child in tree.get("subcommands", [])
            if child["commandName"] not in BUILT_IN and child["shouldDisplay"]]

    @property
    def page(self):
        return "-".join(self.words)

    @property
    def spoken(self):
        return " ".join(self.words)

    def leaves(self):
        return [leaf for child in self.children for leaf in child.leaves()] or [self]

    def texts(self):
        return [self.discussion, *(text for child in self.children for text in child.texts())]

    def takes(self, option):
        return any(option in names(each) for each in self.options) or any(
            child.takes(option) for child in self.children)


def names(option):
    dashes = {"short": "-", "long": "--", "longWithSingleDash": "-"}
    return [dashes[name["kind"]] + name["name"] for name in option.get("names", [])]


def ask(dbtool, *arguments):
    """Returns the output of dbtool, whose help is broken at 200 columns, so that a verb and its text share a line."""
    environment = {"COLUMNS": "200", "PATH": os.environ.get("PATH", "")}
    run = subprocess.run(
        [dbtool, *arguments], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
    if run.returncode != 0:
        raise Refused(f"dbtool {' '.join(arguments)} failed: {run.stderr.strip()}")
    return run.stdout


def read(dbtool):
    return Command(json.loads(ask(dbtool, "--experimental-dump-help"))["command"], ["dbtool"])
