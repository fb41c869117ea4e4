"""Text without spaces between words, such as Japanese: its parts, and what negates or hedges a word in it."""

from __future__ import annotations

from collections.abc import Iterator

from bench.replies.later import Later

UNSPACED = (
    r"\u0e00-\u0eff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
"""Character ranges of scripts that put no spaces between words: Thai, Lao, Khmer, kanji, kana."""

_UNSPACED = Later(f"[{UNSPACED}]")
_WORD = Later(r"[^\W_]+(?:['-][^\W_]+)*")
_CLAUSE = Later(r"[、。,;:!?()「」『』]|けれど|だけど|ですが|だが")
_NEGATED = Later(
    r"(?:では|じゃ|で|とは|には|は)(?:ありませ|ございませ|ござら)|(?:では|じゃ|でも|とは)な(?:い(?!か)|く|か)|ませ[んぬ](?!か)"
    r"|(?<![少危切汚])(?<!違い)(?<!なら)(?:ない|なかった|ねえ)(?!か|と(?:いけ|なら|だめ))|なくて(?!は|も)"
    r"|[らわ](?:ぬ|ん)(?=$|よ|の|わ|ぞ|が)|(?:わけ|はず)が"
)
"""Not negations: 少ない, 危ない, 切ない, なければならない, and what is asked (ないか)."""
_ONLY = Later(r"しか|ほかなら|他なら|だけ")
_LEFT_OUT = Later(r"^[^、。]{0,2}(?:以外|のかわり|の代わり|を除)")
_INEXACT_BEFORE = Later(r"(?:およそ|おおよそ|約|ほぼ|だいたい|大体)\s?$")
_INEXACT_AFTER = Later(r"^[^、。]{0,2}(?:くらい|ぐらい|ほど|程度|以上|以下|あまり|余り|近く|足らず|前後)")
_ASKS = Later(r"(?:\?|(?<!じゃない)(?<!ではない)か(?:い|な|ね|しら)?[。!]*)\s*$")
"""Without a question mark, "...じゃないか" asserts."""


def pieces(text: str, step: int = 1) -> Iterator[str]:
    """The words of ``text``; of unspaced text every pair of neighbouring characters, or each ``step``-th."""
    for word in _WORD.findall(text):
        if _UNSPACED.search(word):
            yield from (word[at : at + 2] for at in range(0, max(1, len(word) - 1), step))
        else:
            yield word


def denied_after(after: str) -> bool:
    """Whether Japanese ``after`` a word denies it: the negation ends its clause ("桃ではありません")."""
    clause = _CLAUSE.split(after)[0]
    return _NEGATED.search(clause) is not None and not _ONLY.search(clause)


def left_out(after: str) -> bool:
    """Whether Japanese ``after`` a word excludes it ("桃以外")."""
    return _LEFT_OUT.match(after) is not None


def inexact(before: str, after: str) -> bool:
    """Whether Japanese right around a word makes it inexact ("約百年", "百年ほど")."""
    return _INEXACT_BEFORE.search(before) is not None or _INEXACT_AFTER.match(after) is not None


def asks(sentence: str) -> bool:
    """Whether a sentence is a question; in Japanese it needs no question mark."""
    return _ASKS.search(sentence) is not None
