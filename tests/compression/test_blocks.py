from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.compression.blocks import Layout, compose, join_contexts, whole, without_overlaps
from grasp_cli.compression.tasks import Evidence


def piece(passage: int, start: int, end: int, block: bool = False) -> Evidence:
    return Evidence(passage, start, end, None, 0, 0, block)


def context(text: str, **keys: object) -> dict:
    return {"id": keys.pop("id", text[:3]), "text": text, **keys}


def test_title_newline_text_and_a_blank_line_between_documents() -> None:
    contexts = [context("One. Two.", title="A"), context("Three.", title="")]
    assert join_contexts(contexts) == "A\nOne. Two.\n\nThree."


def test_adjacent_kept_text_keeps_its_own_white_space_and_a_gap_is_a_space() -> None:
    contexts = [context("One.\r\nTwo.  Three.")]
    kept = without_overlaps(contexts, [piece(0, 0, 4), piece(0, 6, 10)])
    assert compose(contexts, kept) == "One.\r\nTwo."
    kept = without_overlaps(contexts, [piece(0, 0, 4), piece(0, 12, 18)])
    assert compose(contexts, kept) == "One. Three."
    assert compose(contexts, kept, Layout(gap=" … ")) == "One. … Three."


def test_a_block_of_code_is_not_put_on_a_line_with_prose() -> None:
    text = "Do.\nThen.\n```\nx\n```"
    contexts = [context(text)]
    kept = [piece(0, 0, 3), piece(0, 10, len(text), block=True)]
    assert compose(contexts, without_overlaps(contexts, kept)) == "Do.\n```\nx\n```"


def test_passages_of_one_document_share_a_block_in_the_order_of_their_offsets() -> None:
    contexts = [
        context("Late.", id="d#1", doc_id="d", start=20, end=25, title="D", rank=1),
        context("Other.", id="e", title="E", rank=2),
        context("Early.", id="d#0", doc_id="d", start=0, end=6, title="D", rank=3),
    ]
    assert join_contexts(contexts).replace("\n", " ") == "D Early. Late.  E Other."


def test_what_two_passages_share_is_written_once() -> None:
    document = "One. Two. Three."
    contexts = [
        context(document[0:9], id="d#0", doc_id="d", start=0, end=9),
        context(document[5:16], id="d#1", doc_id="d", start=5, end=16),
    ]
    kept = without_overlaps(contexts, [piece(0, 5, 9), piece(1, 0, 4), piece(1, 5, 11)])
    assert [(item.passage, item.start, item.end) for item in kept] == [(0, 5, 9), (1, 5, 11)]
    assert compose(contexts, kept) == "Two. Three."
    assert join_contexts(contexts).split() == document.split()


def test_documents_stand_in_the_order_of_their_best_rank() -> None:
    contexts = [context("B.", rank=2), context("A.", rank=1), context("C.", rank=3)]
    assert join_contexts(contexts) == "A.\n\nB.\n\nC."


def test_passages_without_offsets_are_laid_end_to_end() -> None:
    contexts = [context("Same.", id="1", doc_id="d"), context("Same.", id="2", doc_id="d")]
    assert join_contexts(contexts).split() == ["Same.", "Same."]


@given(st.data())
def test_overlapping_windows_give_each_character_once_in_order(data: st.DataObject) -> None:
    document = "".join(chr(97 + i % 26) for i in range(40))
    contexts, kept = [], []
    for number in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, 38))
        end = data.draw(st.integers(start + 1, 40))
        contexts.append(
            context(document[start:end], id=str(number), doc_id="d", start=start, end=end)
        )
        left = data.draw(st.integers(0, end - start - 1))
        right = data.draw(st.integers(left + 1, end - start))
        kept.append(piece(number, left, right))
    wanted = sorted(
        {
            contexts[item.passage]["start"] + position
            for item in kept
            for position in range(item.start, item.end)
        }
    )
    found = [
        contexts[item.passage]["start"] + position
        for item in without_overlaps(contexts, kept)
        for position in range(item.start, item.end)
    ]
    assert found == wanted
    assert compose(contexts, without_overlaps(contexts, kept)).replace(" ", "") == "".join(
        document[position] for position in wanted
    )


def test_nothing_but_white_space_is_no_evidence() -> None:
    assert whole([context(" \n "), context("")]) == []
    assert join_contexts([context(" \n ", title="T")]) == ""


DOCUMENT = "One. Two. Three. Four. Five."
SPANS = {"One.": (0, 4), "Two.": (5, 9), "Three.": (10, 16), "Four.": (17, 22), "Five.": (23, 28)}


def node(name: str, *sentences: str, **keys: object) -> dict:
    """A node of a tree over sentences that need not be adjacent."""
    source = [{"doc_id": "d", "start": SPANS[s][0], "end": SPANS[s][1]} for s in sentences]
    return context("\n\n".join(sentences), id=name, doc_id="d", source=source, **keys)


def test_parts_of_nodes_stand_in_the_order_of_the_document_and_once() -> None:
    contexts = [node("d@9", "One.", "Four.", title="D"), node("d@8", "Two.", "Four.", "Five.")]
    assert join_contexts(contexts) == "D\nOne.\nTwo.\nFour.\nFive."
    kept = without_overlaps(contexts, whole(contexts))
    assert [contexts[k.passage]["text"][k.start : k.end] for k in kept] == [
        "One.",
        "Two.",
        "Four.",
        "Five.",
    ]
    sentences = [item._replace(block=False) for item in kept]
    assert compose(contexts, sentences) == "D\nOne. Two. Four. Five."
    assert compose(contexts, sentences, Layout(gap=" … ")) == "D\nOne. Two. … Four. Five."


def test_a_node_and_the_document_itself_share_their_text() -> None:
    contexts = [node("d@9", "Two.", "Five."), context(DOCUMENT, id="d")]
    assert join_contexts(contexts) == DOCUMENT
    passage = context(DOCUMENT[5:16], id="d#1", doc_id="d", start=5, end=16)
    assert join_contexts([contexts[0], passage]) == "Two.\nThree.\nFive."


def test_evidence_across_parts_is_cut_where_they_meet() -> None:
    contexts = [node("d@9", "One.", "Three.")]
    kept = without_overlaps(contexts, [piece(0, 0, 12)])
    assert [(item.start, item.end) for item in kept] == [(0, 4), (6, 12)]
    assert compose(contexts, kept) == "One. Three."
    assert compose(contexts, kept, Layout(gap=" … ")) == "One. … Three."
