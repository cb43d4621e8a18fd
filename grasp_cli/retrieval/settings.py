"""What decides the content of an index, besides the documents."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from grasp_cli.defaults import INDEX
from grasp_cli.retrieval.tokens import Tokenizer
from grasp_cli.retrieval.tree.settings import TreeSettings


@dataclass(frozen=True)
class Settings:
    """The settings of an index; an appended one keeps them."""

    model: str
    sha256: str  # of the model's weights
    profile: str = "embedded"
    dtype: str = "float32"  # in which the encoder computes
    dense_dtype: str = INDEX.dense_dtype  # in which vectors are stored
    ann: str = INDEX.ann  # "none", or a key of `ann.KINDS`
    bm25: str = "lucene"
    passage_words: int = INDEX.passage_words
    passage_overlap: int = INDEX.passage_overlap  # sentences
    index_title: bool = INDEX.index_title
    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    tree: TreeSettings | None = None  # None: no trees

    def as_json(self) -> dict[str, Any]:
        """A value that is equal where the settings are."""
        value = {**asdict(self), "tokenizer": self.tokenizer.settings()}
        if self.tree is None:
            del value["tree"]  # so that it is the value of an index made before there were trees
        return value
