"""A document's tree as one self-contained HTML page: no script, nothing from the network."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from grasp_cli.report.explain_page import HEAD
from grasp_cli.report.explain_style import STYLE
from grasp_cli.report.explained import visible
from grasp_cli.report.tree_lines import DrawnTree, TreeLine
from grasp_cli.report.tree_terminal import LEGEND, SEARCH_LEGEND, mark_of

_STYLE = """
.tree { list-style: none; padding: 0; font-size: .95rem; }
.tree li { margin-left: calc(var(--d) * 1.4rem); padding: .1rem .5rem; }
.tree li { border-left: 2px solid #8884; }
.tree li.missed { opacity: .45; }
.tree li.kept { border-left-color: #2a8; }
.tree li.best { border-left-color: #2a8; background: #2a82; font-weight: 600; }
.tree small { opacity: .7; }
"""
_CLASSES = {"*": "best", "+": "kept", "o": "scored", "-": "missed", "": "node"}


def tree_page(tree: DrawnTree) -> Iterator[str]:
    """The page in parts, to be written one after the other."""
    title = f"{tree.title or tree.id} – tree"
    yield f"{HEAD}<title>{_text(title)}</title>"
    yield f"<style>{STYLE}{_STYLE}</style>\n</head>\n<body>\n<main>\n<section>"
    yield f'<p class="id"><bdi>{_text(tree.id)}</bdi></p>'
    yield f"<h2><bdi>{_text(tree.title or tree.id)}</bdi></h2>"
    if tree.search:
        yield f"<p><strong><bdi>{_text(tree.search.question)}</bdi></strong></p>"
    legend = f"{LEGEND}; {SEARCH_LEGEND}" if tree.search else LEGEND
    yield f"<p><small>{_text(legend)}</small></p>"
    yield '<ul class="tree">'
    for line in tree.lines:
        yield _item(tree, line)
    yield "</ul>\n</section>\n</main>\n</body>\n</html>"


def _item(tree: DrawnTree, line: TreeLine) -> str:
    mark = mark_of(tree, line)
    facts = [f"node {line.node}", f"level {line.level}"]
    if line.strength is not None:
        facts.append(f"merged at {line.strength:.3f}")
    if line.score is not None:
        facts.append(f"cosine {line.score:.4f}")
    said = f"{mark} " if mark else ""
    return (
        f'<li class="{_CLASSES[mark]}" style="--d:{line.depth}" data-node="{line.node}">'
        f"{said}<small>{' · '.join(facts)}</small> "
        f'<bdi dir="auto">{_text(tree.said(line))}</bdi></li>'
    )


def _text(text: str) -> str:
    return escape(visible(text))
