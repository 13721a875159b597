#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what the chart has and renders, without a library for YAML.

usage: tools/chart_files.py docs                     docs/reference/chart.md with its tables made from files/keys.yaml
       tools/chart_files.py sort                     manifests, in an order that all versions of Helm agree on
       tools/chart_files.py rules                    of manifests, the groups of the PrometheusRule
       tools/chart_files.py check PROGRAM MANIFESTS  whether PROGRAM takes the configurations in the ConfigMaps
"""

import pathlib
import re
import subprocess
import sys
import tempfile

KEYS = pathlib.Path("deploy/chart/tessera/files/keys.yaml")
PAGE = pathlib.Path("docs/reference/chart.md")
OWNERS = {"all": "several charts", "own": "this chart", "nvidia": "NVIDIA 0.20", "operator": "GPU operator",
          "hami": "HAMi 2.10, 2.11", "hami210": "HAMi 2.10", "hami211": "HAMi 2.11"}


def keys():
    """(key, owner, its effect or None, why it has none or None)"""
    for line in KEYS.read_text().splitlines():
        if found := re.fullmatch(r"([\w.-]+): \{of: (\w+)(.*)\}", line):
            fields = dict(re.findall(r'\b(env|none|to): ("(?:[^"]*)"|\w+)', found[3]))
            fields = {name: text.strip('"') for name, text in fields.items()}
            effect = "; ".join(filter(None, [f"`{fields['env']}`" if "env" in fields else "", fields.get("to")]))
            yield found[1], OWNERS[found[2]], effect, fields.get("none")


def tables():
    rows = sorted(keys(), key=lambda row: row[0].lower())
    yield "| key | whose | becomes |\n|---|---|---|"
    yield from (f"| `{key}` | {owner} | {effect} |" for key, owner, effect, without in rows if not without)
    yield "\n### Without effect\n\n| key | whose | why |\n|---|---|---|"
    yield from (f"| `{key}` | {owner} | {without} |" for key, owner, _, without in rows if without)


def page():
    before, rest = PAGE.read_text().split("<!-- reference begins -->")
    after = rest.split("<!-- reference ends -->")[1]
    return "\n".join([before + "<!-- reference begins -->\n", *tables(), "\n<!-- reference ends -->"]) + after


def documents(text):
    return re.split(r"^---\n", text, flags=re.M)


def rules(text):
    for document in documents(text):
        if re.search(r"^kind: PrometheusRule$", document, re.M):
            return re.sub(r"^  ", "", document.split("\nspec:\n")[1], flags=re.M)
    return ""


def configurations(text):
    """(name, content) of each file in a ConfigMap."""
    for document in documents(text):
        if re.search(r"^kind: ConfigMap$", document, re.M):
            data = document.split("\ndata:\n")[1]
            for name, content in re.findall(r"^  (\S+): \|\n((?:    .*\n|\n)*)", data, re.M):
                yield name, re.sub(r"^    ", "", content, flags=re.M)


def check(program, manifests):
    schedulers = program.endswith("-scheduler")
    good = True
    for name, content in configurations(pathlib.Path(manifests).read_text()):
        if name in ("ignored-values", "config.json", "kube-scheduler.yaml"):
            continue
        if name != "device-config.yaml" and schedulers != (name == "scheduler.yaml"):
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(content)
            file.flush()
            done = subprocess.run([program, "config", "check", file.name], capture_output=True, text=True)
        if done.returncode:
            good = False
            print(f"{name}: {done.stdout}{done.stderr}".replace(file.name, name))
    return good


def main(words):
    if words == ["docs"]:
        print(page(), end="")
    elif words == ["sort"]:
        text = re.sub(r"\n+", "\n", sys.stdin.read())
        print("---\n".join(sorted(documents(text), key=str.strip)), end="")
    elif words == ["rules"]:
        print(rules(sys.stdin.read()), end="")
    elif words[:1] == ["check"] and len(words) == 3:
        return 0 if check(*words[1:]) else 1
    else:
        print(__doc__, file=sys.stderr)
        return 64
    return 0


sys.exit(main(sys.argv[1:]))
