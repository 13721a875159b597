# SPDX-License-Identifier: Apache-2.0
"""The rows of a script (test/card/row.h has their form)."""

import json
import os


def row(kind, name, **members):
    line = json.dumps({"part": os.environ["CARD_PART"], "kind": kind, "name": name, **members}, separators=(",", ":"))
    with open(os.environ["CARD_ROWS"], "a", encoding="ascii") as rows:
        rows.write(line + "\n")


def fact(name, value, note=""):
    row("fact", name, value=str(value), **({"note": note} if note else {}))


def figure(name, unit, samples):
    row("figure", name, unit=unit, samples=[float(f"{sample:.6g}") for sample in samples])


def trouble(name, what):
    row("trouble", name, value=str(what)[:500])
