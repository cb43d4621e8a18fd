"""Trees drawn in the terminal and as a page, with the way of a beam."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from grasp_cli.cli import explain as verb
from grasp_cli.pipe.errors import DataError, UsageError
from grasp_cli.report.tree_lines import DrawnTree, Search, drawn
from grasp_cli.report.tree_page import tree_page
from grasp_cli.report.tree_terminal import tree_for_terminal
from grasp_cli.retrieval.store import Index
from grasp_cli.retrieval.tree.nodes import parents, path_to
from grasp_cli.retrieval.tree.search import TreeSearch
from tests.retrieval.fakes import HashingEncoder
from tests.retrieval.tree import naive
from tests.retrieval.tree.planted import opened, some_documents

DOCUMENTS = [
    {"id": "long", "title": "<River>", "text": some_documents(1, seed=4, most=60)[0]["text"]},
    {"id": "one", "text": "Ice \x1b[31m came."},
    {"id": "chain", "text": "Ice came. " * 300},
    {"id": "bare", "title": "Nothing", "text": " "},
]
QUESTION = "river ice <now>"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return opened(DOCUMENTS, tmp_path_factory.mktemp("trees") / "x")


def seen(index: Index, name: str, question: str | None = None) -> DrawnTree:
    place = index.trees.place(name)
    assert place is not None
    search = None
    if question:
        (vector,) = HashingEncoder().embed([question])
        search = Search(question, *TreeSearch(index.trees, beam=2).traced(vector, place))
    return drawn(index.trees.document(place), index.trees.tree(place), search)


def test_every_node_is_a_line_and_smaller_parts_are_further_in(index: Index) -> None:
    for name in ("long", "one", "chain"):
        place = index.trees.place(name)
        assert place is not None
        tree, lines = index.trees.tree(place), seen(index, name).lines
        assert sorted(line.node for line in lines) == list(range(tree.root + 1))
        above = parents(tree.pairs)
        assert all(line.level == len(path_to(line.node, above)) - 1 for line in lines)
        assert max(line.depth for line in lines) <= math.log2(len(tree.chunks))
        assert sum(line.chunks for line in lines if line.strength is None) == len(tree.chunks)
    assert max(line.level for line in seen(index, "chain").lines) == 299
    assert seen(index, "bare").lines == []


def test_the_way_of_the_beam_is_that_of_the_plain_search(index: Index) -> None:
    place = index.trees.place("long")
    assert place is not None
    tree, search = index.trees.tree(place), seen(index, "long", QUESTION).search
    assert search is not None
    (vector,) = HashingEncoder().embed([QUESTION])
    scores = (tree.vectors.astype(float) @ vector.astype(float)).round(4).tolist()
    scored = naive.beam(scores, tree.pairs.tolist(), 2)
    assert set(search.scores) == scored
    assert all(search.scores[node] == scores[node] for node in scored)
    assert tree.root in search.kept and set(search.kept) < scored
    above = parents(tree.pairs)
    assert all(int(above[node]) in search.kept for node in scored if node != tree.root)
    assert search.scores[search.best] == max(search.scores.values())


def test_in_the_terminal(index: Index) -> None:
    tree = seen(index, "long", QUESTION)
    lines = tree_for_terminal(tree, 100, styled=False).splitlines()
    assert lines[0] == f"<River> (long): {len(tree.lines)} nodes"
    assert lines[1] == QUESTION
    assert all(len(line) <= 100 for line in lines)
    body = lines[2 : 2 + len(tree.lines)]
    assert [line[0] for line in body].count("*") == 1
    assert {line[0] for line in body} == {"*", "+", "o", "-"}
    assert re.match(r"\+ -?[01]\.\d{4} +\d+ L0 -?[01]\.\d{3} \d+ chunks$", body[0])
    assert "\x1b[" in tree_for_terminal(tree, 100, styled=True)
    plain = tree_for_terminal(seen(index, "one"), 100, styled=False)
    assert plain.splitlines()[1].startswith("0 L0 Ice ") and "\x1b" not in plain


class Listed(HTMLParser):
    """The list items of a page, and that every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.items: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag != "meta":
            self.open.append(tag)
        if tag == "li":
            self.items.append(dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_as_a_page(index: Index) -> None:
    tree = seen(index, "long", QUESTION)
    text = "\n".join(tree_page(tree))
    listed = Listed()
    listed.feed(text)
    assert listed.open == []
    assert [item["data-node"] for item in listed.items] == [str(line.node) for line in tree.lines]
    assert [item["class"] for item in listed.items].count("best") == 1
    assert "&lt;now&gt;" in text and "<now>" not in text and "<script" not in text
    assert "http" not in text.replace('http-equiv="Content-Security-Policy"', "")


def draw(index: Index, tree: str | None, **more: Any) -> None:
    verb.explain(tree=tree, directory=index.directory, **more)


def test_the_command(
    index: Index, capfdbinary: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grasp_cli.retrieval.model.encoder_of", lambda index: HashingEncoder())
    draw(index, "long", question=QUESTION, beam=2)
    wanted = tree_for_terminal(seen(index, "long", QUESTION), 100, styled=False)
    assert capfdbinary.readouterr().out.decode() == wanted
    draw(index, "chain", html=tmp_path / "t.html", quiet=True)
    assert (tmp_path / "t.html").read_text().count("<li") == 599
    draw(index, "bare", question=QUESTION)
    assert b"Nothing (bare): 0 nodes" in capfdbinary.readouterr().out


def test_what_cannot_be_drawn(index: Index, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no document 'long@3' with text"):
        draw(index, "long@3")
    with pytest.raises(UsageError, match="no FILE is read"):
        draw(index, "long", files=[tmp_path / "x.jsonl"])
    with pytest.raises(UsageError, match="-q is of --tree"):
        draw(index, None, question="why")
    with pytest.raises(UsageError, match="the question is empty"):
        draw(index, "long", question=" ")
