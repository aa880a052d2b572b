"""Reads the help of a built dbtool: its verbs, their words, options and texts."""

import json
import os
import re
import subprocess

# The parser's own verb.
BUILT_IN = {"help"}
# The parser's own options, which are of no verb.
WITHOUT_VERB = {"--generate-completion-script", "--help-hidden"}
# In prose, `--new-` names a family of options.
FAMILIES = {"--new-"}
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


class Refused(Exception):
    pass


class Command:
    """A verb of the help. A verb with verbs below it, such as `key`, has children."""

    def __init__(self, tree, words):
        self.words, self.abstract, self.discussion = words, tree["abstract"], tree.get("discussion", "")
        shown = [argument for argument in tree.get("arguments", []) if argument["shouldDisplay"]]
        self.positionals = [argument for argument in shown if argument["kind"] == "positional"]
        self.options = [argument for argument in shown if argument["kind"] != "positional"]
        # Those of --help-hidden.
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
    return sorted((dashes[name["kind"]] + name["name"] for name in option.get("names", [])), key=len)


def placeholder(argument):
    """What stands for a value, as the help prints it: `FILE`, or a choice such as `descent|same` as it is."""
    name = argument.get("valueName", "")
    return name.upper() if re.fullmatch(r"[a-z-]*", name) else name


def described(argument):
    """The text of an option or word, with its values and default where the text doesn't name them."""
    text, facts = argument.get("abstract", ""), []
    values = argument.get("allValues", []) if argument["kind"] == "option" else []
    if not all(value in text or value in placeholder(argument) for value in values):
        facts.append(("values: " if len(values) > 1 else "value: ") + ", ".join(values))
    default = argument.get("defaultValue")
    if default and "(default" not in text:
        facts.append(f"default: {default}")
    return text + (f" ({'; '.join(facts)})" if facts else "")


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


class Options(set):
    """The names of the options of a verb's --help. `hidden` has those that only its --help-hidden shows."""

    def __init__(self, verb):
        super().__init__(name for option in verb.options for name in names(option))
        self.hidden = {name for option in verb.hidden for name in names(option)}


def program_verbs(dbtool):
    """Returns {("key", "add"): Options} of every verb that has no subcommands."""
    return {tuple(verb.words[1:]): Options(verb) for verb in read(dbtool).leaves()}


def known_options(program):
    return set().union(*program.values(), *(options.hidden for options in program.values())) | FAMILIES | WITHOUT_VERB


def command_problems(command, program):
    """Finds a verb or option in a command that dbtool lacks. A verb in capitals is a place for any."""
    words = re.split(r"[|<>;&)]", command.partition("dbtool ")[2])[0].split()
    known = known_options(program)
    if not words or words[0] in WITHOUT_VERB | BUILT_IN:
        return
    verb = next((verb for verb in (tuple(words[:2]), tuple(words[:1])) if verb in program), None)
    is_family = any(name[0] == words[0] for name in program) and re.fullmatch("[A-Z]*", "".join(words[1:2]))
    # A store alone is browsed.
    is_store = words[0].endswith(".coffer")
    if verb is None and not is_family and not is_store and not re.match(r"-|…|[A-Z]+$", words[0]):
        yield f"there is no verb in: {command}"
        return
    allowed = program[verb] | program[verb].hidden | WITHOUT_VERB if verb else known
    for option in sorted(set(OPTION.findall(" ".join(words))) - allowed):
        yield f"{' '.join(verb or ('no verb',))} has no {option}: {command}"
