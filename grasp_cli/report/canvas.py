"""What rich draws, as text of a given width."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def drawn(draw: Callable[[Console], None], width: int, *, styled: bool) -> str:
    """What `draw` prints, without spaces at the ends of lines.

    Parameters
    ----------
    width : columns of the output
    styled : whether colours and dimming may be used
    """
    from rich.console import Console

    out = io.StringIO()
    draw(
        Console(
            file=out,
            width=width,
            force_terminal=styled,
            color_system="256" if styled else None,
            highlight=False,
            emoji=False,
        )
    )
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
