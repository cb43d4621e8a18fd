"""`make soak`: kills, nonsense and size, whole, with their figures as JSON lines.

`python -m tests.soak.run [--kills N] [--lines N] [--records N] [kills|fuzz|faults|memory …]`
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.soak.fuzz import fuzz
from tests.soak.kills import kill
from tests.soak.memory import growth, sizes

# Megabytes that a job over all records may take more than one over a hundredth of them. Held as
# objects, a million of these records would take some 3,000. An id takes 16 bytes, three times that
# while runs are merged; evaluate also keeps each record's values, 8 bytes each.
FLAT = {"compress": 100, "evaluate": 250}


def kills(asked: Any, place: Path) -> bool:
    found = kill(asked.kills, place, asked.seed)
    for one in found:
        tell(kill=one.as_row())
    return not any(one.lost or one.doubled or one.different for one in found)


def nonsense(asked: Any, place: Path) -> bool:
    tell(fuzz=asdict(fuzz(asked.lines, place, asked.seed)))
    return True


def faults(asked: Any, place: Path) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "tests/soak/test_faults.py"]
    code = subprocess.run(command, cwd=ROOT).returncode
    tell(faults={"passed": code == 0})
    return code == 0


def memory(asked: Any, place: Path) -> bool:
    found = sizes((asked.records // 100, asked.records), place)
    for one in found:
        tell(memory=asdict(one))
    grown = growth(found)
    tell(megabytes_more=grown)
    return all(megabytes < FLAT[name] for name, megabytes in grown.items())


PROOFS: dict[str, Callable[[Any, Path], bool]] = {
    "kills": kills,
    "faults": faults,
    "fuzz": nonsense,
    "memory": memory,
}


def tell(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PROOFS)}")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: the time")
    asked = parser.parse_args()
    tell(seed=asked.seed)
    failed = []
    for name in asked.names or PROOFS:
        with tempfile.TemporaryDirectory() as place:
            started = time.monotonic()
            passed = PROOFS[name](asked, Path(place))
            tell(proof=name, passed=passed, seconds=round(time.monotonic() - started, 1))
            failed += [] if passed else [name]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
