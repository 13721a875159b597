# SPDX-License-Identifier: Apache-2.0
"""The pages of the tree as tools/check-docs reads them: prose, headings, code, and blocks with their marks."""

import pathlib
import posixpath
import re
import subprocess

MARKS = (EXCERPT, STEP, LONG_STEP) = ("not a whole file", "run", "run, goes on")


class Tree:
    def __init__(self, root):
        self.root = root
        listed = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
                                capture_output=True, text=True)
        if listed.returncode == 0:
            names = [name for name in listed.stdout.split("\0") if name and (root / name).exists()]
        else:  # a plain copy
            names = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
            names = [name for name in names if not name.startswith((".", "build/"))]
        self.files = sorted(names)
        self.known = {"."} | set(names)
        for name in names:
            self.known.update(parent.as_posix() for parent in pathlib.PurePosixPath(name).parents)
        self.pages = {name: Page(name, self.read(name)) for name in self.files if name.endswith(".md")}

    def read(self, name):
        return (self.root / name).read_text(encoding="utf-8", errors="replace")

    def has(self, path, page):
        """Whether the path exists, or the page names it as an example."""
        path = posixpath.normpath(path)
        return path in self.known or any(part.isupper() for part in path.split("/")) or any(
            path == invented or path.startswith(invented + "/") for invented in page.invented)

    def trouble(self, path, anchor):
        """The fault of a path from the root and an anchor in it, or None."""
        path = posixpath.normpath(path)
        if path not in self.known:
            return f"there is no {path}"
        page = self.pages.get(path) or self.pages.get(posixpath.join(path, "README.md"))
        if anchor and not (page and anchor in page.anchors) and not re.match(r"L\d+", anchor):
            return f"{path} has no heading #{anchor}"
        return None


class Block:
    def __init__(self, page, line, language, mark):
        self.page, self.line, self.language, self.mark = page, line, language, mark
        self.text = ""

    def lines(self):
        """Lines of shell as (number, command, here-document); continued lines are joined."""
        rows, at = self.text.split("\n"), 0
        while at < len(rows):
            number, line, document = self.line + at, rows[at], ""
            while line.endswith("\\") and at + 1 < len(rows):
                at += 1
                line = line[:-1] + rows[at]
            end = re.search(r"<<-?\s*['\"]?(\w+)", line)
            if end:
                at += 1
                first = at
                while at < len(rows) and rows[at] != end[1]:
                    at += 1
                document = "".join(row + "\n" for row in rows[first:at])
            at += 1
            if line.strip():
                yield number, line, document

    def files(self):
        """(line, text) of the files in the block: itself, or its here-documents."""
        if self.language == "sh":
            return [(number + 1, document) for number, _, document in self.lines() if document]
        return [(self.line, self.text)]


class Page:
    """A page's blocks, and its prose: the same lines, with blocks and comments blank."""

    def __init__(self, name, text):
        self.name, self.blocks, self.open_fence = name, [], None
        prose, block, fence, mark = [], None, None, ""
        for number, line in enumerate(text.splitlines(), 1):
            found = re.match(r"( *)(`{3,}|~{3,})\s*([^`]*)$", line)
            if block is None and found:
                fence = found
                block = Block(name, number + 1, found[3].strip(), mark)
            elif block is not None and found and found[2].startswith(fence[2]) and not found[3].strip():
                self.blocks.append(block)
                block, mark = None, ""
            elif block is not None:
                indented = line[: len(fence[1])].strip() == ""
                block.text += (line[len(fence[1]):] if indented else line) + "\n"
            else:
                comment = re.match(r"\s*<!-- (.*) -->$", line)
                mark = comment[1] if comment and comment[1] in MARKS else mark if not line.strip() else ""
                prose.append("" if comment else line)
                continue
            prose.append("")
        if block is not None:
            self.open_fence = block.line - 1
        self.prose = "\n".join(prose)
        self.anchors = set(re.findall(r'<a (?:id|name)="([^"]+)"', self.prose))
        for heading in re.findall(r"^ {0,3}#{1,6} +(.*?)[ #]*$", self.prose, re.M):
            anchor, count = slug(heading), 0
            while anchor + (f"-{count}" if count else "") in self.anchors:
                count += 1
            self.anchors.add(anchor + (f"-{count}" if count else ""))
        # Code between backquotes, and the prose without it.
        self.spans = []
        self.invented = re.findall(r"^<!-- not in the tree: (\S+) -->$", text, re.M)

        def blank(span):
            self.spans.append((self.line_of(span.start()), re.sub(r"\s+", " ", span[2].strip()).replace("\\|", "|")))
            return re.sub(r"[^\n]", " ", span[0])

        self.plain = re.sub(r"(?<!`)(`+)(?!`)((?:(?!\n\s*\n).)+?)(?<!`)\1(?!`)", blank, self.prose, flags=re.S)

    def line_of(self, offset):
        return self.prose.count("\n", 0, offset) + 1


def slug(heading):
    """GitHub's name of a heading."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    heading = re.sub(r"<[^>]+>|[`*]|(?<!\w)_|_(?!\w)", "", heading)
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
