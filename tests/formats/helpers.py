"""Write a small foreign file, read it back as records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grasp_cli.formats import Format, load_format


def convert(name: str, folder: Path, *items: Any) -> tuple[list[dict[str, Any]], Format]:
    """Records of `items`, written as a JSON array, and the format with its notes."""
    path = folder / "input.json"
    path.write_text(json.dumps(list(items)))
    form = load_format(name)
    return list(form.records(path)), form
