"""A document's tree as lines for a terminal, or as plain text for a file or a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grasp_cli.report.canvas import drawn
from grasp_cli.report.explained import visible
from grasp_cli.report.tree_lines import DrawnTree, TreeLine

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

LEGEND = (
    "node, level from the root, the relation at which its two parts merged; the smaller part is "
    "drawn further in"
)
SEARCH_LEGEND = "* best  + in the beam  o scored  - not reached; then the cosine with the question"
_GUIDE = "│ "


def tree_for_terminal(tree: DrawnTree, width: int, *, styled: bool) -> str:
    """The document, the question, and a line per node.

    Parameters
    ----------
    width : columns of the output
    styled : whether colours may be used; the marks say the same without them
    """
    from rich.text import Text

    def draw(console: Console) -> None:
        name = f"{visible(tree.title)} ({visible(tree.id)})" if tree.title else visible(tree.id)
        console.print(Text(f"{name}: {len(tree.lines)} nodes", style="bold underline"))
        if tree.search:
            console.print(Text(visible(tree.search.question), style="bold"))
        for line in tree.lines:
            console.print(_line(tree, line), no_wrap=True, overflow="ellipsis", crop=True)
        legend = f"{LEGEND}; {SEARCH_LEGEND}" if tree.search else LEGEND
        console.print(Text(legend, style="dim"))

    return drawn(draw, width, styled=styled)


def mark_of(tree: DrawnTree, line: TreeLine) -> str:
    """What a search did with a node, as one character; empty without a search."""
    if tree.search is None:
        return ""
    if line.score is None:
        return "-"
    return "*" if line.node == tree.search.best else "+" if line.kept else "o"


def _line(tree: DrawnTree, line: TreeLine) -> Text:
    from rich.text import Text

    mark = mark_of(tree, line)
    style = {"*": "bold green", "+": "green", "-": "dim"}.get(mark, "")
    score = "" if line.score is None else f"{line.score:.4f}"
    merged = "" if line.strength is None else f"{line.strength:.3f}"
    head = f"{mark} {score:7} " if mark else ""
    return Text.assemble(
        (head, style),
        (_GUIDE * line.depth, "grey50"),
        (f"{line.node} ", "cyan"),
        (f"L{line.level} {merged} ".replace("  ", " "), "grey50"),
        (visible(tree.said(line)), style if line.chunks == 1 else "italic"),
        no_wrap=True,
        overflow="ellipsis",
    )
