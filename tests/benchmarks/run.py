"""`make bench`: run every benchmark, print a table, write bench.json.

Each `bench_*.py` beside this file has a function `benchmarks()` that returns entries
`{name, value, unit, target, holds}`; `target` and `holds` are None where nothing is promised.
Names on the command line choose files: `python -m tests.benchmarks.run splitting`.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OUTPUT = HERE.parent.parent / "bench.json"


def main(chosen: list[str]) -> int:
    entries: list[dict[str, Any]] = []
    for file in sorted(HERE.glob("bench_*.py")):
        if chosen and file.stem.removeprefix("bench_") not in chosen:
            continue
        found = importlib.import_module(f"tests.benchmarks.{file.stem}").benchmarks()
        for entry in found:
            print(line(entry), flush=True)
        entries += found
    OUTPUT.write_text(json.dumps(entries, indent=1) + "\n")
    print(f"\n{len(entries)} figures, also in {OUTPUT.name}")
    return 1 if any(entry["holds"] is False for entry in entries) else 0


def line(entry: dict[str, Any]) -> str:
    verdict = {True: "holds", False: "MISSED", None: ""}[entry["holds"]]
    target = "" if entry["target"] is None else f"target {entry['target']:g}"
    value = f"{entry['value']:.3g}" if isinstance(entry["value"], float) else str(entry["value"])
    return f"{entry['name']:58} {value:>9} {entry['unit']:12} {target:14} {verdict}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
