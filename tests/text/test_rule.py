"""The rule in detail. In the texts below `|` marks where it must cut, and nowhere else."""

from __future__ import annotations

import re

import pytest

from grasp_cli.text import split_sentences

# A number that would open a line numbers it; what is closed after a space must not wrap there.
NO_WRAPPING = re.compile(r"\b(\d+|IV)\.(\s|\|)|[ ]»|:-|🚀")

CASES = [
    # Titles, initials, acronyms
    "Mr. and Mrs. Hale met Prof. Ames.| He left.",
    "The Rev. J. A. Smith spoke.| J. R. R. Tolkien wrote.",
    "It is in the U.S. Senate.| He lived in the U.S.| He died there.",
    "She took a Ph.D. in Ohio.| At 5 p.m. Eastern time.| At 5 p.m.| They left.",
    "World War I.| The end came.| John F. Kennedy won.",
    "Acme Inc. Google and Co. bought it.| It was Acme Inc.| The price rose.",
    "Smith et al. found it, cf. Jones vs. Brown.| Done.",
    # Numbers
    "See No. 4 and Fig. 2, vol. IV, sec. B, pp. 12-14.| No.| I do not.",
    "Pi is 3.14.| Version 2.0.1 is out.| It ended in 2010.| 12 people came.",
    "1. One thing.| 2. Another.| IV. The fourth.",
    # What follows in lower case
    'He asked "Really?" and left.| "Stop!" she said.| "Go."| Then he went.',
    "Wait... what?| Well...| Maybe.",
    "It binds all cells.| mTOR and p53 do not.| That is approx. ten, etc. and so on.",
    "i used to have one of these.| they are great!| what happened to you?| no idea.",
    "Yahoo! was sold.| See spp. in fig. a and vol. ii.",
    # What closes a sentence
    "(It rained.)| He said “Go.”| ‘No!’| Then.",
    "It is so.[12]| And so.[1][2]| **Bold.**| _Italic._| End.",
    "Il a dit : « Non. »| Puis il part.| « Oui ! »| M. Dupont et Mme. Curie.",
    "Er sagte: „Nein.“| Sie ging: »Ja.«| »Gut.«| Ende.",
    "What?!| Yes!!!| ¿Qué?| ¡Hola!| Fine.",
    "Danke! :-)| Bis bald. 🚀🎉| Gut ;)",
    # What is no sentence end at all
    "... and so on.| .. note:: a thing.| etc., he said.",
    "Open readme.md and a.b.c now.| Mail a@b.org today.",
    "Use e.g. this, i.e. that.| It is a Dipl.-Ing. Meyer.",
    # German
    "Am 3. Mai 1999 kam z. B. Dr. Meyer.| Er blieb bis zum 19. Jahrhundert.| Gut.",
    "Das war d. h. vier Jahre, u. a. in Köln, usw.| Die S. 12 ist leer.| Der 1. FC siegt.",
    "I am 25.| My name is Ada.| Er ist 12.| Sie ist 13.",
]


@pytest.mark.parametrize("marked", CASES)
def test_rule(marked: str) -> None:
    text = marked.replace("|", "")
    expected = [piece.strip() for piece in marked.split("|")]
    assert [text[start:end] for start, end in split_sentences(text, "rule")] == expected


@pytest.mark.parametrize("marked", [case for case in CASES if not NO_WRAPPING.search(case)])
def test_a_single_line_break_is_a_space(marked: str) -> None:
    text = marked.replace("|", "").replace(" ", "\n")
    expected = [piece.strip().replace(" ", "\n") for piece in marked.split("|")]
    assert [text[start:end] for start, end in split_sentences(text, "rule")] == expected


def test_a_number_that_opens_a_line_numbers_it() -> None:
    text = "The steps are\n12. Go on. II. Stop."
    assert [text[start:end] for start, end in split_sentences(text, "rule")] == [
        "The steps are\n12. Go on.",
        "II. Stop.",
    ]
