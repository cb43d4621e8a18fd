"""Scripts that are written without spaces between words, as ranges for regular expressions."""

from __future__ import annotations

# Han with its iteration marks, kana, the Han of higher planes.
_HAN_KANA = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# Those whose sentences end with marks of their own; bopomofo and half-width kana, too.
UNSPACED_LETTER = f"{_HAN_KANA}\u3100-\u312f\uff66-\uff9f"
# Thai and Lao, Burmese, Khmer as well.
UNSPACED = f"{_HAN_KANA}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
