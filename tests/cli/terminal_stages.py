"""Run stages of a pipe in one process tree: `python -m tests.cli.terminal_stages COMMAND… + …`.

Each stage is a forked copy of this process, so that grasp is imported once; the first reads our
standard input and the last writes our standard output. Lines come every 0.1 s, the bar is drawn
every 0.03 s. Exit: 0, or 9 where a stage without a bar has loaded rich.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace

from grasp_cli import defaults
from grasp_cli.cli.main import main

defaults.PROGRESS = replace(defaults.PROGRESS, seconds=0.1, redraw=0.03)


def stage(arguments: list[str], last: bool) -> int:
    sys.argv = ["grasp", *arguments]
    try:
        main()
    except SystemExit as end:
        if end.code:
            return int(end.code)
    return 9 if not last and "rich.table" in sys.modules else 0


def start(stages: list[list[str]]) -> list[int]:
    children, source = [], 0
    for arguments in stages:
        last = arguments is stages[-1]
        outlet, inlet = (-1, 1) if last else os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(source, 0)
            if not last:
                os.dup2(inlet, 1)
                os.close(outlet)
            os._exit(stage(arguments, last))
        children.append(child)
        if source:
            os.close(source)
        if not last:
            os.close(inlet)
            source = outlet
    return children


if __name__ == "__main__":
    words = " ".join(sys.argv[1:]).split(" + ")
    codes = [os.waitpid(child, 0)[1] for child in start([one.split() for one in words])]
    sys.exit(max(os.waitstatus_to_exitcode(code) for code in codes))
