"""ragcompress: sentences by a cross-encoder, without repetitions, up to where scores fall off.

Three parts that other methods use, too, in the setting of ragcompress: each sentence is judged by
a cross-encoder, maximal marginal relevance leaves out near-duplicates (`redundancy`), and the
budget is adaptive (`adaptive`), or fixed with `--budget threshold` and `--max-tokens` or
`--top-k-spans`. Where the model is an encoder, its cosine stands in for the cross-encoder.
"""

from __future__ import annotations

from grasp_cli.compression.classifiers import SpanClassifier
from grasp_cli.compression.exit import Exit
from grasp_cli.defaults import CompressDefaults


def ragcompress(classifier: SpanClassifier, options: CompressDefaults, borderline: float) -> Exit:
    """The method; options for budget and redundancy are the stage's."""
    return Exit(classifier, options, borderline, "ragcompress")
