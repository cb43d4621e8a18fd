"""Foreign datasets and files to records and documents: one small file per format."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from grasp_cli.formats.base import Format

FORMATS: dict[str, str] = {
    "hotpotqa": "grasp_cli.formats.hotpotqa:HotpotQA",
    "musique": "grasp_cli.formats.musique:MuSiQue",
    "dpr": "grasp_cli.formats.dpr:DPR",
    "squad": "grasp_cli.formats.squad:SQuAD",
    "beir": "grasp_cli.formats.beir:BEIR",
}

__all__ = ["FORMATS", "Format", "load_format"]


def load_format(name: str) -> Format:
    """A new reader for the format `name`, a key of `FORMATS`."""
    module, _, attribute = FORMATS[name].partition(":")
    return cast(Format, getattr(import_module(module), attribute)())
