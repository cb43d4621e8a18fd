"""Foreign datasets and files to records and documents: one small file per format."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from grasp_cli.formats.base import DocumentFormat, Format, JoinedFormat, Sources

FORMATS: dict[str, str] = {
    "hotpotqa": "grasp_cli.formats.hotpotqa:HotpotQA",
    "musique": "grasp_cli.formats.musique:MuSiQue",
    "dpr": "grasp_cli.formats.dpr:DPR",
    "squad": "grasp_cli.formats.squad:SQuAD",
    "asqa": "grasp_cli.formats.asqa:ASQA",
    "qasper": "grasp_cli.formats.qasper:QASPER",
    "contract-nli": "grasp_cli.formats.contract_nli:ContractNLI",
    "open-qa": "grasp_cli.formats.open_qa:OpenQA",
    "beir": "grasp_cli.formats.beir:BEIR",
    "topics": "grasp_cli.formats.topics:Topics",
    "records": "grasp_cli.formats.records:Records",
}
JOINED_FORMATS: dict[str, str] = {
    "trec-run": "grasp_cli.formats.joined:RunContexts",
    "qrels": "grasp_cli.formats.joined:JudgedQuestions",
    "openai-batch": "grasp_cli.formats.openai_batch:BatchAnswers",
}
DOCUMENT_FORMATS: dict[str, str] = {
    "text": "grasp_cli.formats.text_files:TextFiles",
    "csv": "grasp_cli.formats.delimited:CSV",
    "tsv": "grasp_cli.formats.delimited:TSV",
    "parquet": "grasp_cli.formats.parquet:Parquet",
}

__all__ = [
    "DOCUMENT_FORMATS",
    "FORMATS",
    "JOINED_FORMATS",
    "DocumentFormat",
    "Format",
    "JoinedFormat",
    "Sources",
    "load_document_format",
    "load_format",
    "load_joined_format",
]


def load_format(name: str, split: str | None = None) -> Format:
    """A new reader for the format `name`, a key of `FORMATS`.

    `split` names the part of a dataset to read, where it comes in several.
    """
    return cast(Format, _load(FORMATS[name])(split))


def load_document_format(name: str, columns: Mapping[str, str] | None = None) -> DocumentFormat:
    """A new reader for `name`, a key of `DOCUMENT_FORMATS`.

    `columns` says which column of a table is `id`, `title` or `text`; `UsageError` where the
    format has no columns.
    """
    return cast(DocumentFormat, _load(DOCUMENT_FORMATS[name])(columns or {}))


def load_joined_format(name: str, sources: Sources) -> JoinedFormat:
    """A new reader for `name`, a key of `JOINED_FORMATS`, whose questions `sources` names."""
    return cast(JoinedFormat, _load(JOINED_FORMATS[name])(sources))


def _load(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)
