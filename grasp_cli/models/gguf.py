"""Convert a GGUF file once into a model directory in the cache.

transformers needs most of a minute to read a GGUF file and seconds to read its own format, so the
conversion is kept: safetensors in bfloat16, a clean configuration and the tokenizer.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from grasp_cli.models.cache import cache_directory
from grasp_cli.models.profiles import EMBEDDED_EXTRA
from grasp_cli.pipe.errors import MissingError
from grasp_cli.pipe.log import LOG

_NEEDED = ("gguf", "accelerate")
_VERSION = 1  # of what this file writes; another one is another directory
_FILE = "model.gguf"


def converted(parts: Iterable[Path], sha256: str) -> Path:
    """The directory that holds the GGUF file made of `parts` as a loadable model.

    `sha256` is that of the whole file and names the directory. The first call converts (about a
    minute for 270M parameters, with one line on stderr); processes that start at once wait for
    the one that does. Raises `MissingError` where a package for reading GGUF is absent.
    """
    target = converted_directory(sha256)
    if target.is_dir():
        return target
    _require_packages()
    from filelock import FileLock

    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{target}.lock"):
        if not target.is_dir():
            _convert(list(parts), target)
    return target


def converted_directory(sha256: str) -> Path:
    """Where the conversion of the file with this hash is, or would be."""
    return cache_directory() / "models" / f"gguf-{sha256[:16]}-v{_VERSION}"


def _require_packages() -> None:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingError(
            f"reading GGUF needs the package {' and '.join(missing)}: {EMBEDDED_EXTRA}"
        )


def _convert(parts: list[Path], target: Path) -> None:
    """Build beside `target` and rename, so that `target` is there only when it is complete."""
    name = parts[0].name.partition(".part")[0]
    LOG.say(f"converting {name} once (about a minute) into {target}")
    prefix = f".{target.name}-"
    for left_over in target.parent.glob(f"{prefix}*"):  # of a process that was killed; ours alone,
        shutil.rmtree(left_over, ignore_errors=True)  # since we hold the lock
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=prefix) as directory:
        workplace = Path(directory)
        _join(parts, workplace / _FILE)
        built = workplace / "built"
        _save(workplace, built)
        os.replace(built, target)


def _join(parts: list[Path], whole: Path) -> None:
    if len(parts) == 1:
        whole.symlink_to(parts[0].resolve())
        return
    with open(whole, "wb") as output:
        for part in parts:
            with open(part, "rb") as stream:
                shutil.copyfileobj(stream, output, 1 << 20)


def _save(directory: Path, built: Path) -> None:
    """Read `directory/model.gguf` and write the same model in transformers' own format.

    A model that was loaded from GGUF refuses `save_pretrained`; its tensors go into one that was
    made from the same configuration without the note of quantisation.
    """
    from grasp_cli.models.runtime import quiet_transformers, torch_runtime

    torch, transformers = torch_runtime(), quiet_transformers()
    local = {"gguf_file": _FILE, "local_files_only": True, "trust_remote_code": False}
    with contextlib.redirect_stderr(io.StringIO()):  # a progress bar that no setting turns off
        tokenizer = transformers.AutoTokenizer.from_pretrained(directory, **local)
        loaded = transformers.AutoModelForCausalLM.from_pretrained(
            directory, dtype=torch.bfloat16, **local
        )
    settings = loaded.config.to_dict()
    settings.pop("quantization_config", None)
    clean = type(loaded.config).from_dict(settings)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(clean, dtype=torch.bfloat16)
    model.load_state_dict(loaded.state_dict(), strict=True, assign=True)
    model.tie_weights()
    model.generation_config = loaded.generation_config
    model.save_pretrained(built)
    tokenizer.save_pretrained(built)
