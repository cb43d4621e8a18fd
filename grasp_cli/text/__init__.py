"""Text as spans: sentences, atomic blocks."""

from __future__ import annotations

from grasp_cli.text.blocks import Segment, segment
from grasp_cli.text.sentences import DEFAULT_SPLITTER, SPLITTERS, split_sentences
from grasp_cli.text.spans import Span

__all__ = ["DEFAULT_SPLITTER", "SPLITTERS", "Segment", "Span", "segment", "split_sentences"]
