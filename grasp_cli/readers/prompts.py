"""Every word that is said to a reader, as data, and the two forms it is put in.

`strict` asks for the shortest answer, as the metrics of the papers expect; `natural` for a
sentence. Each exists in a chat form (one user message) and in a base form (worked examples, then
the question), for models that were never taught to follow instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grasp_cli.text.refusals import REFUSALS


@dataclass(frozen=True)
class Example:
    """A question answered as it should be; an answer per style."""

    context: str
    question: str
    answers: dict[str, str]


@dataclass(frozen=True)
class Style:
    """How long an answer should be, as what is asked for."""

    instruction: str


@dataclass(frozen=True)
class Prompt:
    """One question to a reader. An empty context is left out, and the question asked alone."""

    style: str
    context: str
    question: str

    def with_context(self, context: str) -> Prompt:
        """The same question over another context."""
        return replace(self, context=context)


STYLES: dict[str, Style] = {
    "strict": Style(
        instruction=(
            "Answer the question from the context in as few words as possible: a name, a date, "
            "a number, yes or no. Give the answer alone, without a sentence around it. If the "
            f"context does not tell, answer: {REFUSALS[0]}"
        ),
    ),
    "natural": Style(
        instruction=(
            "Answer the question in one or two plain sentences, from the context alone. If the "
            f"context does not tell, say: {REFUSALS[1].capitalize()}."
        ),
    ),
}

# The examples are our own and fictional, so that a model can only have them from their context.
# None of them refuses: with one that does, Gemma 3 270M refuses a tenth of the HotpotQA training
# questions whose gold sentences it is given (F1 0.51 falls to 0.46).
EXAMPLES: tuple[Example, ...] = (
    Example(
        context=(
            "Harrow Mill\nHarrow Mill is a watermill on the Tove. It was built in 1874 by the "
            "engineer Ada Kerr.\n\n"
            "Ada Kerr\nAda Kerr was an engineer. She was born in Leith and died in Oslo."
        ),
        question="Where was the builder of Harrow Mill born?",
        answers={
            "strict": "Leith",
            "natural": "The builder of Harrow Mill, Ada Kerr, was born in Leith.",
        },
    ),
    Example(
        context=(
            "The Glass Orchard\nThe Glass Orchard is a novel by Ines Balder, first published in "
            "1996.\n\n"
            "Winter Ferry\nWinter Ferry is a novel by Ines Balder about a ship's cook. It came "
            "out in 2003."
        ),
        question="Which novel came out first, Winter Ferry or The Glass Orchard?",
        answers={
            "strict": "The Glass Orchard",
            "natural": "The Glass Orchard came out first, in 1996.",
        },
    ),
    Example(
        context=(
            "Brannoch FC\nBrannoch FC is a football club from Brannoch in Scotland.\n\n"
            "Lower Sund IF\nLower Sund IF is a football club in Norway."
        ),
        question="Are Brannoch FC and Lower Sund IF from the same country?",
        answers={
            "strict": "no",
            "natural": "No, Brannoch FC is from Scotland and Lower Sund IF is from Norway.",
        },
    ),
    Example(
        context=(
            "Orla Tennant\nOrla Tennant is a cellist who plays with the Aldmoor Quartet. She "
            "studied at the Kestrel School of Music from 1988 to 1992."
        ),
        question="How long did the cellist of the Aldmoor Quartet study?",
        answers={
            "strict": "four years",
            "natural": "The cellist, Orla Tennant, studied for four years, from 1988 to 1992.",
        },
    ),
)


def base_prefix(style: str) -> str:
    """What every prompt of this style in base form begins with: instruction and examples."""
    shown = [_block(one.context, one.question, one.answers[style]) for one in EXAMPLES]
    return "\n\n\n".join([STYLES[style].instruction, *shown]) + "\n\n\n"


def base_text(prompt: Prompt) -> str:
    """The whole text for a model that continues text; the answer is the rest of its last line."""
    return base_prefix(prompt.style) + _block(prompt.context, prompt.question, "")


def chat_messages(prompt: Prompt) -> list[dict[str, str]]:
    """The messages for a model that was taught to chat.

    One user message: several chat templates refuse a system part.
    """
    parts = [STYLES[prompt.style].instruction, *_parts(prompt.context, prompt.question)]
    return [{"role": "user", "content": "\n\n".join(parts)}]


def _block(context: str, question: str, answer: str) -> str:
    return "\n\n".join(_parts(context, question)) + f"\nAnswer: {answer}".rstrip(" ")


def _parts(context: str, question: str) -> Sequence[str]:
    asked = f"Question: {question}"
    return [f"Context:\n{context}", asked] if context.strip() else [asked]
