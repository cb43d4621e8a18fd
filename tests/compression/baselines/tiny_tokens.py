"""Tiny seeded token classifiers on disk, in the layouts of LLMLingua-2, Provence, OpenProvence."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

from grasp_cli.models.runtime import quiet_transformers, torch_runtime

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def wordpiece() -> Any:
    """A tokenizer of single characters in WordPiece's spelling; other scripts are unknown."""
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )

    letters = [*string.ascii_letters, *string.digits]
    names = [*SPECIAL, *string.punctuation, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {name: number for number, name in enumerate(names)}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.add_special_tokens(SPECIAL)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return quiet_transformers().PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )


def llmlingua2(directory: Path, *, positions: int = 512) -> Path:
    """A BERT that classifies tokens, as transformers saves it."""
    transformers = quiet_transformers()
    config = transformers.BertConfig(**_shape(positions), intermediate_size=48)
    made = _seeded(transformers.BertForTokenClassification, config, 21)
    made.save_pretrained(directory)
    wordpiece().save_pretrained(directory)
    return directory


def provence(directory: Path, *, positions: int = 512) -> Path:
    """A DeBERTa with two heads, under the names that naver's weights have."""
    transformers = quiet_transformers()
    config = transformers.DebertaV2Config(
        **_shape(positions),
        intermediate_size=48,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        type_vocab_size=0,
        share_att_key=True,
        norm_rel_ebd="layer_norm",
        position_buckets=32,
    )
    encoder = _seeded(transformers.DebertaV2Model, config, 22)
    weights = {f"deberta.{name}": tensor for name, tensor in encoder.state_dict().items()}
    weights |= _head("token_classifier", 2) | _head("classifier", 1)
    return _saved(directory, weights, {**config.to_dict(), "model_type": "Provence"})


def open_provence(directory: Path) -> Path:
    """A ModernBERT that classifies sequences, with a pruning head beside it."""
    transformers = quiet_transformers()
    config = transformers.ModernBertConfig(
        **_shape(512), intermediate_size=48, num_labels=1, local_attention=16
    )
    ranking = _seeded(transformers.ModernBertForSequenceClassification, config, 23)
    weights = {f"ranking_model.{name}": tensor for name, tensor in ranking.state_dict().items()}
    weights |= _head("pruning_head.classifier", 2)
    outer = {"model_type": "open_provence", "base_model_config": config.to_dict()}
    return _saved(directory, weights, outer)


def _shape(positions: int) -> dict[str, int]:
    return {
        "vocab_size": len(wordpiece()),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": positions,
        "pad_token_id": 0,
    }


def _seeded(kind: Any, config: Any, seed: int) -> Any:
    torch = torch_runtime(1)
    torch.manual_seed(seed)
    model = kind(config).eval()
    for weights in model.parameters():
        if weights.dim() > 1:
            torch.nn.init.normal_(weights, std=0.6)
    return model


def _head(name: str, rows: int) -> dict[str, Any]:
    torch = torch_runtime(1)
    drawn = torch.Generator().manual_seed(len(name))
    return {
        f"{name}.weight": torch.randn((rows, 32), generator=drawn) * 0.6,
        f"{name}.bias": torch.randn(rows, generator=drawn),
    }


def _saved(directory: Path, weights: dict[str, Any], config: dict[str, Any]) -> Path:
    from safetensors.torch import save_file

    wordpiece().save_pretrained(directory)
    save_file({name: t.clone() for name, t in weights.items()}, directory / "model.safetensors")
    (directory / "config.json").write_text(json.dumps(config))
    return directory
