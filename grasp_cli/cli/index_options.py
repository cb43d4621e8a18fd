"""The choices of `grasp index`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from grasp_cli.cli.options import Dtype


class Bm25(str, Enum):
    """Which BM25."""

    lucene = "lucene"
    okapi = "okapi"


class StopWords(str, Enum):
    """Which words BM25 leaves out."""

    none = "none"
    english = "english"


class Ann(str, Enum):
    """Which vector search."""

    none = "none"
    hnsw = "hnsw"
    ivfpq = "ivfpq"


class DenseDtype(str, Enum):
    """In what vectors are stored."""

    float32 = "float32"
    float16 = "float16"


class Stem(str, Enum):
    """Whose word endings BM25 leaves out."""

    none = "none"
    arabic = "arabic"
    danish = "danish"
    dutch = "dutch"
    english = "english"
    finnish = "finnish"
    french = "french"
    german = "german"
    hungarian = "hungarian"
    italian = "italian"
    norwegian = "norwegian"
    portuguese = "portuguese"
    romanian = "romanian"
    russian = "russian"
    spanish = "spanish"
    swedish = "swedish"


class TreeKind(str, Enum):
    """What a tree is made by."""

    embedding = "embedding"
    attention = "attention"


class Merge(str, Enum):
    """The vector of a node."""

    mean_of_two = "mean-of-two"
    size_weighted = "size-weighted"


PassageWords = Annotated[
    int,
    typer.Option(min=0, help="Cut longer documents into passages of whole sentences (0: never)."),
]
PassageOverlap = Annotated[
    int, typer.Option(min=0, help="Sentences that a passage repeats of the one before.")
]
IndexTitle = Annotated[
    bool, typer.Option("--index-title/--no-index-title", help="Search in titles, too.")
]
Bm25Option = Annotated[
    Bm25 | None,
    typer.Option(
        "--bm25",
        show_default=False,
        help="lucene: word weights never negative (profile embedded); "
        "okapi: as rank-bm25's BM25Okapi (profile paper).",
    ),
]
StopWordsOption = Annotated[
    StopWords, typer.Option("--stop-words", help="Words that BM25 leaves out.")
]
StemOption = Annotated[
    Stem, typer.Option("--stem", help="Snowball stemmer of BM25's words, by language.")
]
DenseModel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|PATH", show_default=False, help="The encoder (default: the profile's)."
    ),
]
DtypeOption = Annotated[
    Dtype,
    typer.Option(
        "--dtype", help="Number format of the encoder; auto: bfloat16 where the CPU has it."
    ),
]
DenseDtypeOption = Annotated[
    DenseDtype, typer.Option("--dense-dtype", help="Number format of the stored vectors.")
]
AnnOption = Annotated[
    Ann,
    typer.Option(
        "--ann",
        help="Approximate vector search for millions of passages; its recall is measured and said.",
    ),
]
WithTree = Annotated[
    bool,
    typer.Option(
        "--with-tree", help="Also make a tree over the chunks of each document (--mode tree)."
    ),
]
Tree = Annotated[
    TreeKind | None,
    typer.Option(
        show_default=False,
        help="What merges first: chunks of like vectors (default), or chunks that the encoder "
        "reads together (default with --tree-weights).",
    ),
]
MergeOption = Annotated[
    Merge,
    typer.Option(
        "--merge",
        help="A node's vector: mean of its two parts (as published), or of all chunks below.",
    ),
]
ChunkSentences = Annotated[int, typer.Option(min=1, help="Sentences of a chunk, at most.")]
TreeWeights = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        show_default=False,
        help="Trained weights of attention heads, and of the encoder; the index keeps a copy.",
    ),
]
Append = Annotated[
    bool,
    typer.Option("--append", help="Add to the index; a document whose id is there replaces it."),
]
DeleteIds = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default=False,
        help="Take documents out of the index: their ids, one a line; no standard input is read.",
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with an interrupted build of the same documents."),
]
Verify = Annotated[
    bool, typer.Option("--verify", help="Check every part of the index, and do nothing else.")
]
Stats = Annotated[
    bool, typer.Option("--stats", help="Print what the index is, and do nothing else.")
]
