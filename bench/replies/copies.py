"""Removes what an answer copies: the user's sentences, and the speaker's name in front."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from bench.replies.later import Later
from bench.replies.unspaced import asks, pieces

ECHO_WORDS = 6
"""A sentence of at least this many words that repeats the user's shows that the user's side was written."""
COPIED_WORDS, COPIED_SHARE = 3, 0.8
"""A sentence of at least this many words is copied if one run of words is this share of it and of a sentence
of the user's. Where the user said more, "inside the globe" is an answer."""
SENTENCE = Later(r"[^.!?;…。\n]+[.!?;…。]*")


def without_speaker(answer: str, name: str) -> str:
    """An answer without the character's name in front of it ("Pip: ..."), which is not part of the words."""
    label, colon, rest = answer.partition(":")
    words = {word.casefold() for word in label.strip(" *_#\n").split()}
    return rest if colon and words and words <= {*name.casefold().split()} else answer


def repeats(sentence: str, asked: str) -> bool:
    """Whether a sentence only repeats the question."""
    return asks(sentence) and _echoed_share(sentence, asked) >= 0.8


def echoes(text: str, asked: str) -> bool:
    """Whether a sentence of ``text`` is the user's own."""
    return any(
        len(_words(sentence)) >= ECHO_WORDS and _echoed_share(sentence, asked) >= 0.9
        for sentence in SENTENCE.findall(text)
    )


def own_words(text: str, said: Sequence[str]) -> str:
    """``text`` without the sentences that are copied from what the user said.

    Also without a copy at its end that the token limit cut off.
    """
    theirs = [part for message in said for sentence in SENTENCE.findall(message) for part in _parts(sentence)]
    their_words = [*map(_words, theirs)]
    *before, last = SENTENCE.findall(text) or [""]
    kept = [sentence for sentence in before if not _copied(_words(sentence), their_words)]
    copied = len(kept) < len(before)
    if _copied(_words(last), their_words):
        return "".join(kept)
    if copied and any(part.startswith(last.strip()) for part in (*theirs, *before)):
        return "".join(kept)
    return "".join((*kept, last)) if copied else text


def _parts(sentence: str) -> list[str]:
    """A sentence, and what stands behind its colon ("You are a translator: translate this")."""
    _, colon, rest = sentence.partition(":")
    return [sentence.strip(), rest.strip()] if colon else [sentence.strip()]


def _words(sentence: str) -> list[str]:
    return [*pieces(sentence, 2)]


def _copied(words: Sequence[str], theirs: Sequence[Sequence[str]]) -> bool:
    for other in theirs:
        longest = max(len(words), len(other))
        if COPIED_WORDS <= min(len(words), len(other)) >= COPIED_SHARE * longest:
            run = SequenceMatcher(None, words, other, autojunk=False).find_longest_match()
            if run.size >= COPIED_SHARE * longest:
                return True
    return False


def _echoed_share(sentence: str, asked: str) -> float:
    """The share of a sentence's words that the user's message has too."""
    words, known = _words(sentence), {*pieces(asked)}
    return sum(word in known for word in words) / len(words) if words else 0.0
