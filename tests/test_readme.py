"""The README is true: its commands run, its tables are those of the command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import readme_options
from tests.conftest import ROOT, lines
from tests.readers.servers import Said, ollama_reply, serving

TEXT = readme_options.README.read_text()
BLOCKS = [
    (info, body)
    for info, body in re.findall(r"^```sh(.*)\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
]


def test_the_options_tables_are_those_of_the_command_line() -> None:
    assert readme_options.replaced(TEXT) == TEXT, "run: python -m tests.readme_options"


def test_exit_codes_are_those_of_the_error_tree() -> None:
    from grasp_cli.pipe import errors

    section = TEXT.partition("## Exit codes")[2].partition("\n## ")[0]
    codes = {int(code) for code in re.findall(r"^\| (\d+)\b", section, flags=re.MULTILINE)}
    raised = {
        item.exit_code
        for item in vars(errors).values()
        if isinstance(item, type) and issubclass(item, errors.GraspError)
    }
    assert raised <= codes and {0, 130} <= codes


@pytest.mark.models
def test_every_command_runs(tmp_path: Path) -> None:
    """All `sh` blocks in order, in one directory that has nothing but sample_data."""
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    binary = tmp_path / "bin"
    binary.mkdir()
    (binary / "grasp").write_text(f'#!/bin/sh\nexec {sys.executable} -m grasp_cli.cli.main "$@"\n')
    (binary / "grasp").chmod(0o755)
    (binary / "make").write_text(f'#!/bin/sh\nexec /usr/bin/make -C {ROOT} -n "$@"\n')
    (binary / "make").chmod(0o755)
    with serving(lambda path, body: Said(ollama_reply("in 1987"))) as server:
        environment = {
            **os.environ,
            "PATH": f"{binary}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "OLLAMA_HOST": server.url,
        }
        for info, body in BLOCKS:
            if "not run" in info:
                continue
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", body],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=600,
            )
            expected = int(found.group(1)) if (found := re.search(r"exit=(\d+)", info)) else 0
            assert done.returncode == expected, f"{body}\n{done.stdout}\n{done.stderr}"
            if "grasp retrieve | grasp compress | grasp answer" in body:
                (record,) = lines(done.stdout)
                assert record["evidence"][0]["text"] in TEXT and record["answer"]
