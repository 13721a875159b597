# SPDX-License-Identifier: Apache-2.0
"""The programs of a build, for tools/check-docs: their --help, and their checks of a file."""

import functools
import json
import os
import pathlib
import re
import subprocess
import tempfile

PROGRAMS = ("tessera", "tessera-scheduler", "tessera-sim")
# These need no input and change nothing.
RUN = ("tessera version", "tessera completion", "tessera man", "tessera config print", "tessera config schema",
       "tessera-scheduler version", "tessera-scheduler config print", "tessera-sim version")
PLACEHOLDER = re.compile(r"[A-Z]{2}|^[A-Z]$|…|\.\.\.|<|\$")


class Build:
    """The programs of a build folder, run in a directory of their own."""

    def __init__(self, folder, scratch, patience=10):
        self.folder, self.scratch = folder.resolve(), pathlib.Path(scratch)
        self.patience = patience  # seconds, for a step of a walk-through
        self.environment = {"PATH": f"{self.folder}:{os.environ.get('PATH', '')}", "HOME": scratch, "COLUMNS": "200"}

    def run(self, words, limit=30):
        try:
            done = subprocess.run([self.folder / words[0], *words[1:]], capture_output=True, text=True, timeout=limit,
                                  stdin=subprocess.DEVNULL, cwd=self.scratch, env=self.environment)
            return done.returncode, done.stdout, done.stderr
        except (OSError, subprocess.TimeoutExpired) as error:
            return 1, "", str(error)

    def check_file(self, command, text):
        """(exit code, [(line, message)])"""
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=self.scratch) as file:
            file.write(text)
            file.flush()
            code, _, said = self.run([*command, file.name])
            return code, [(int(line), what) for line, what in
                          re.findall(rf"^{re.escape(file.name)}:(\d+):\d+: (.*)", said, re.M)] or [(1, said.strip())]

    @functools.lru_cache(maxsize=None)
    def help(self, words):
        """(subcommands, {flag: whether it takes a value}, whether there are arguments), or the fault."""
        code, text, said = self.run([*words, "--help"])
        if code:
            return said.split("\n")[0] or f"{' '.join(words)} --help fails"
        parts = dict(re.findall(r"^(Commands|Arguments|Options):\n((?:[ ].*\n|\n(?=[ ]))*)", text, re.M))
        flags = {"--help": False, "-h": False}
        for short, flag, value in re.findall(r"^ +(?:(-\w), )?(--[\w-]+)((?: [A-Z].*)?)", parts.get("Options", ""), re.M):
            flags[flag] = flags[short] = bool(value)
        for also in re.findall(r"\[also:\s([^\]]*)\]", parts.get("Options", "")):
            flags.update({flag: True for flag in re.findall(r"--?[\w-]+", also)})
        return re.findall(r"^  (\S+)", parts.get("Commands", ""), re.M), flags, "Arguments" in parts

    def is_elsewhere(self, words):
        """Whether the command only names the program that has it."""
        return f" is '{PROGRAMS[2]} " in str(self.help(words))

    def trouble(self, words):
        """The fault of a command of ours, or None."""
        path, rest = (words[0],), list(words[1:])
        if rest == ["--version"]:
            return None
        if rest[:1] == ["help"]:
            rest = rest[1:]
        known = self.help(path)
        while rest and not isinstance(known, str):
            commands, flags, arguments = known
            word = rest.pop(0)
            name, equals, _ = word.partition("=")
            if word in commands:
                path += (word,)
                known = self.help(path)
            elif re.match(r"--?[A-Za-z]", word):
                if name not in flags:
                    return f"{' '.join(path)} has no flag {name}"
                if flags[name] and not equals:
                    rest = rest[1:]
            elif commands and PLACEHOLDER.search(word):
                return None  # stands for a subcommand
            elif not arguments:
                return f"{' '.join(path)} has no command {word}"
        if isinstance(known, str):
            return known
        if " ".join(path) in RUN and not any(PLACEHOLDER.search(word) for word in words):
            code, _, said = self.run(words)
            if code:
                return f"{' '.join(words)} fails: {said.strip()}"
        return None

    @functools.cached_property
    def keys(self):
        return set(json.loads(self.run(["tessera", "config", "schema"])[1])["properties"])
