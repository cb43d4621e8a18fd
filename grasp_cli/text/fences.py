"""Code blocks: Markdown fences, and reStructuredText literal blocks.

Source of the fence rules: CommonMark 0.31, section 4.5. A fence indented by more than three
columns counts as well, since tools nest fences in tabs and notes; it then ends, at the latest,
where its container does.
"""

from __future__ import annotations

import re

from grasp_cli.text.lines import Line, next_text

_QUOTE = r"(?P<quote>(?:>[ \t]{0,3})*)"
_OPEN = re.compile(_QUOTE + r"(?P<marks>`{3,}(?=[^`]*\Z)|~{3,})")
_CLOSE = re.compile(_QUOTE + r"(?P<marks>`{3,}|~{3,})\Z")
_CODE_DIRECTIVE = re.compile(r"\.\. (?:code-block|code|sourcecode|parsed-literal)::")
_DEEPEST = 3


def fence_end(
    lines: list[Line], index: int, container: int = 0, opener: Line | None = None
) -> int | None:
    """The index after the fenced block that opens at `index`, None if none opens there.

    `container` is the column where the text of the enclosing list item begins, 0 outside of one;
    `opener` stands for the line at `index` where a list marker comes before the fence.
    An unclosed fence runs to the end of its container, outside of one to the end of the text.
    """
    first = opener or lines[index]
    if first.body[:1] not in ("`", "~", ">"):
        return None
    opening = _OPEN.match(first.body)
    if opening is None:
        return None
    if first.columns - container > _DEEPEST:
        container = first.columns - _DEEPEST
    for following in range(index + 1, len(lines)):
        line = lines[following]
        if opening["quote"]:
            if not line.body.startswith(">"):
                return following
        elif line.body and line.columns < container:
            return following
        if _closes(line, opening, container):
            return following + 1
    return len(lines)


def _closes(line: Line, opening: re.Match[str], container: int) -> bool:
    if line.columns - container > _DEEPEST or line.body[:1] not in ("`", "~", ">"):
        return False
    closing = _CLOSE.match(line.body)
    return (
        closing is not None
        and bool(closing["quote"]) == bool(opening["quote"])
        and closing["marks"].startswith(opening["marks"])
    )


def literal_end(lines: list[Line], index: int) -> tuple[int, int] | None:
    """Where the literal block announced by line `index` begins and ends, None if it has none.

    A line that ends in `::` announces the indented lines after a blank one; a code directive, or
    a line of nothing else, is itself part of its block.
    """
    line = lines[index]
    directive = _CODE_DIRECTIVE.match(line.body)
    if not directive and not line.body.endswith("::"):
        return None
    begins = next_text(lines, index + 1)
    apart = directive or begins > index + 1
    if not apart or begins == len(lines) or lines[begins].columns <= line.columns:
        return None
    end = begins
    for following in range(begins, len(lines)):
        if lines[following].body:
            if lines[following].columns <= line.columns:
                break
            end = following + 1
    return (index if directive or line.body == "::" else begins), end
