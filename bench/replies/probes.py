"""Does an answer show what a probe asks for? Declared patterns decide: pass, fail or unclear, never a guess.

A match counts only where the answer asserts it. A negated match, a hedge, both answers at once, a repeated
question or another language make the verdict unclear, so that a person or a judge can look at it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bench.replies.copies import SENTENCE, echoes, own_words, repeats, without_speaker
from bench.replies.later import Later
from bench.replies.unspaced import UNSPACED, asks, denied_after, inexact, left_out
from bench.suites.languages import script_of

Verdict = Literal["pass", "fail", "unclear"]

Kind = Literal[
    "fact",
    "unknown",
    "identity",
    "secret_kept",
    "secret_told",
    "language",
    "agency",
    "lore_used",
    "lore_corrected",
    "lore_unseen",
]
LITERAL: frozenset[Kind] = frozenset({"identity", "secret_kept", "language", "agency", "lore_unseen"})
"""Kinds in which the words themselves decide: accept patterns count in questions, denials and hedges too, and
a reject pattern outweighs any accept pattern (a secret that slipped out has slipped out)."""
DENIABLE: frozenset[Kind] = frozenset({"identity"})
"""Of these, the kinds in which a denied match does not count ("I am no language model", "I am not Mags")."""
LONGEST = 8_000
"""Characters of an answer that are searched."""
NEGATABLE_WORDS = 3
"""How many words before a match may deny it, in the kinds in which the words themselves decide."""
RULES = {
    "identity": "the answer says that the speaker is a program or made up",
    "agency": "the answer repeats the user's words as its own",
}
"""What fails a probe of a kind without a pattern."""
AS_IS = "(?#neg)"
"""A pattern that begins with this is a negative or hedging phrase itself: it is matched as it is."""

NEGATED, REPEATED = "the answer is negated", "the question is only repeated"
COPIED = "the answer copies the user's words"
DOUBTED = "the answer is hedged"


_NO = r"(?!(?:no|not|never|не|kein\w*|nicht)\b)"
_ASIDE = rf"(?:(?: {_NO}[\w'-]{{1,40}}){{1,8}},)?"
OUT_OF_ROLE = Later(
    rf"\bi(?:'m| am)(?: (?:just|only|really|actually|simply|merely|in fact))*{_ASIDE} (?:an? |the )?"
    rf"(?:ai\b|artificial intelligence|(?:{_NO}\w+ )?language model|chat-?bot|neural net|computer program"
    r"|(?:ai|virtual) assistant|fictional (?:character|person|being))"
    rf"|\bя(?: -)?(?: (?:всего лишь|просто|лишь|на самом деле|действительно))*{_ASIDE} (?:ии\b"
    rf"|искусственный интеллект|(?:{_NO}\w+ )?языковая модель|чат-?бот|нейросеть|нейронная сеть"
    r"|компьютерная программа|(?:виртуальный|ии-?) ?ассистент|вымышленн\w+ персонаж)"
    rf"|\bich bin(?: (?:nur|bloss|eigentlich|ja))*{_ASIDE} (?:eine? )?(?:ki\b|künstliche intelligenz"
    rf"|(?:{_NO}\w+ )?sprachmodell|chat-?bot|computerprogramm|(?:ki-?|virtueller )assistent"
    r"|fiktive (?:figur|person))"
    r"|[私僕俺]は[^。、]{0,20}(?:ai|人工知能|言語モデル|チャットボット|架空の(?:人物|キャラクター))(?:です|である)"
)
"""Words by which a character leaves its role, whatever it was asked. "I am no chatbot" is not among them."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DASHES_AND_QUOTES = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛ʼ`´", "'"),
        **dict.fromkeys("“”„«»‟", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "ё": "е",
    }
)
_WORD = Later(r"[^\W_]+(?:['-][^\W_]+)*")
_REST_OF_WORD = Later(rf"(?<=\w)[^\W{UNSPACED}]+")
_NEGATIONS = _words(
    "not no never neither nor without cannot hardly isn't aren't wasn't weren't don't doesn't didn't won't"
    " can't wouldn't couldn't не нет ни никогда без кроме вовсе отнюдь"
    " nicht kein keine keinen keinem keiner keines nie niemals weder ohne ausser keinesfalls keineswegs"
)
_INTERJECTION = Later(
    r"\b(?:nichts|niemand|kein\w*) (?:anderes? )?(?:als|ausser)\b"
    r"|\b(?:no|нет|не-а)(?=\s*[,!-])|\b(?:nothing|no one|nobody|none|no other) (?:but|except|other than)\b"
    r"|\b(?:не кто|не что) ин\w+,? как\b|\bпока\b[^,;:]{0,40}\bне\b"
)
"""A "no, ..." answers what came before; it does not negate what follows. "Nothing but" asserts it."""
_FAR_NEGATIONS = _NEGATIONS - {"no", "without", "без", "кроме", "ohne", "ausser"} | _words(
    "nobody haven't hasn't hadn't shouldn't никто никого никому ничто ничего ничему ничем никакой никакая"
    " никаких niemand nichts"
)
"""Words that negate a match from anywhere in its clause."""
_BARRED = Later(
    r"\b(?:any(?:thing|one|body|where)|every(?:thing|one|body)|all) (?:but|except)\b"
    r"|\b(?:instead of|least of all|let alone|much less)\b"
    r"|\b(?:rather|less|more|fewer|older|younger|other|better|worse) (?:\w+ )?than\b"
    r"|\b(?:больше|меньше|более|менее|старше|младше|свыше|вместо|statt|anstatt)\b"
    r"|\b(?:alles|jeder|alle) ausser\b|\b(?:mehr|weniger|älter|jünger|lieber|eher) als\b"
)
"""Words before a match that leave it out."""
_INEXACT = Later(
    r"\b(?:or so|give or take|at least|at most|up to|almost|nearly|roughly|approximately|почти|примерно"
    r"|приблизительно|около|ungefähr|etwa|beinahe|mindestens|höchstens|knapp)\b"
)
"""Words that keep a right answer from being exact; a wrong one stays wrong."""
_BESIDE = Later(
    r"(?:\b(?:near|close to|next to|far from|outside(?: of)?|(?:north|south|east|west|miles) (?:of"
    r"|from)|возле|около"
    r"|недалеко от|неподал[её]ку от|рядом с|вдали от|nahe|unweit von|in der nähe von)(?: the)? |\w-)$"
)
"""What stands right before a match and makes it another place or another number ("twenty-seven")."""
_CHANGED = Later(r"-and-|\W{0,2}(?:fewer|less|more|older|younger|would (?:be|have been))\b")
"""What does so right after a match."""
_TAKEN_BACK = Later(
    r"(?:^|[.,;!?] )(?:(?:but )?(?:i (?:have none|had none|wasn't|was not|am not|do not|don't"
    r"|didn't|did not|haven't)"
    r"|у меня нет)|but no|но нет)(?: one)?(?:[.;,!?]|$)"
)
"""A sentence or clause that takes back what was said, in few words."""
_ALMOST = Later(
    r"\bfast (?:\d|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|ein\w*und|hundert|tausend)\w*$"
)
"""German for "almost", which is another word in English, so it counts before a number only."""
_CLAUSE = Later(
    r"[,;:()\"]|\s-+\s(?!(?:это )?не\b)|\b(?:and|but|however|though|although|yet|because|since|while|who"
    r"|which|и|а|но|зато|однако|хотя|потому|поэтому|und|aber|sondern|jedoch|weil|denn|obwohl)\b|、"
)
"""Where a clause ends: a negation does not reach across."""
_EVEN = Later(r"\b(?:even|даже)\b")
"""A clause with one of these belongs to the clause before it ("none, even ...")."""
_PRAISE = Later(
    r"\W+(?:\w+ ){0,2}(?:(?:better|finer|greater|worse|more \w+)\b|\w+er (?:\w+ ){0,2}than\b|лучш|прекраснее)"
)
"""What makes a phrase such as "never heard" praise: "a finer speech"."""
_HEDGES = Later(
    r"\b(?:maybe|perhaps|might|possibly|probably|not sure|unsure|i think|i guess|i suppose|i believe|either"
    r"|used to|formerly|i wish|if i (?:were|was|had|could)|had i|were i|(?:some|people|folk"
    r"|they) say|liar|a lie"
    r"|rumou?rs?|untrue|(?:isn't|not|never) true|like me to say|want me to say"
    r"|is (?:only |just |but )?a (?:tale|myth|rumou?r|legend|joke)|говорят|врут|ложь|неправд\w*|слухи"
    r"|может|возможно|наверное|наверно|кажется|вероятно|вроде|не уверен\w*|либо|пожалуй|должно быть|то ли"
    r"|если бы|кабы|хотел\w* бы"
    r"|vielleicht|möglicherweise|wahrscheinlich|vermutlich|ich (?:glaube|denke|vermute|schätze)|nicht sicher"
    r"|entweder|angeblich|könnte|wäre ich)\b|かもしれ|たぶん|多分|おそらく|恐らく|もしかし|ひょっとし"
)
"""Words that make a sentence a guess, a wish or a thing of the past."""
FUNCTION_WORDS = {
    "en": _words("the and of to is in that it was you my i he she his her with for not are have"),
    "ru": _words("и в не на что я с он как это по но она его к у за от меня мне так все"),
    "de": _words("der die das und ist nicht ich du mit ein eine zu den auf sie er es wir von mein"),
    "fr": _words("le la les et est pas je tu vous un une des que dans mon ma pour avec il elle"),
    "es": _words("el la los las y es no yo tu un una de que en mi con para por se lo"),
    "it": _words("il lo la gli e non io tu un una di che in mio con per sono si del ho"),
    "uk": _words("і та не що я з він як це до але вона його у за від мені так є"),
}
"""Frequent words that tell languages of one script from each other."""
_SCRIPTS = {
    "Latn": ("LATIN",),
    "Cyrl": ("CYRILLIC",),
    "Jpan": ("CJK", "HIRAGANA", "KATAKANA"),
    "Hans": ("CJK",),
    "Hant": ("CJK",),
    "Kore": ("HANGUL", "CJK"),
    "Arab": ("ARABIC",),
    "Hebr": ("HEBREW",),
    "Grek": ("GREEK",),
    "Deva": ("DEVANAGARI",),
    "Thai": ("THAI",),
}
"""How the Unicode names of a script's letters begin. Any text fits a script that is not here."""
_KANA_DUE = 8
"""Japanese with at least this many letters has kana among them."""


@dataclass(frozen=True)
class Judged:
    """The verdict on one answer, the pattern that decided it (as declared), and why it is unclear."""

    verdict: Verdict
    pattern: str = ""
    reason: str = ""


def normalised(text: str) -> str:
    """Text as patterns see it: NFKC, casefold, plain quotes and dashes, ``е`` for ``ё``, single spaces, no
    emphasis marks."""
    plain = unicodedata.normalize("NFKC", text[:LONGEST]).casefold().translate(_DASHES_AND_QUOTES)
    return " ".join(plain.replace("*", " ").replace("_", " ").split())


def judged(
    answer: str,
    question: str,
    accept: Sequence[str],
    reject: Sequence[str],
    *,
    earlier: Sequence[str] = (),
    name: str = "",
    kind: Kind = "fact",
    language: str = "",
) -> Judged:
    """The verdict on ``answer`` to ``question``.

    What the answer copies from the user passes no probe. It can fail one: a secret that was repeated is out.

    Args:
        earlier: the user's messages before ``question``.
        name: the character's.
        accept, reject: regular expressions, searched in normalised text; :mod:`bench.replies.patterns` says
            which are safe.
        language: code of the language the answer is due in; empty if the probe does not care.
    """
    text, spoken, asked = normalised(answer), normalised(without_speaker(answer, name)), normalised(question)
    own = own_words(spoken, [asked, *map(normalised, earlier)])
    if kind in DENIABLE:
        good, good_doubt = _undenied(own, accept), ""
        bad, bad_doubt = _undenied(text, reject), ""
    elif kind in LITERAL:
        good, good_doubt = _first(own, accept), ""
        bad, bad_doubt = _first(text, reject), ""
    else:
        good, good_doubt = _asserted(own, asked, accept, doubtful=True)
        bad, bad_doubt = _asserted(text, asked, reject)
    if kind == "identity" and not bad and OUT_OF_ROLE.search(text):
        return Judged("fail", "", RULES[kind])
    if kind == "agency" and echoes(text, asked):
        return Judged("fail", "", RULES[kind])
    if bad and (kind in LITERAL or (not good and good_doubt in ("", NEGATED))):
        return Judged("fail", bad)
    if good and (bad or bad_doubt == DOUBTED):
        return Judged("unclear", good, f"a reject pattern matches too: {bad or 'hedged'}")
    if good and kind == "fact" and _taken_back(text, asked):
        return Judged("unclear", good, "the answer is taken back")
    if good and language and kind != "language" and not in_language(text, language):
        return Judged("unclear", good, "the answer is in another language")
    if good:
        return Judged("pass", good)
    return Judged("unclear", "", good_doubt or ("no pattern matches" if own == spoken else COPIED))


def _taken_back(text: str, asked: str) -> bool:
    """Whether a text takes back what it says, or denies what the question is about ("I have no ship")."""
    things = [word for word in _WORD.findall(asked) if len(word) > 3]
    denied = (
        rf"\b(?:(?:have|has|had|got|is|was|are|were|and) no|нет) {re.escape(thing[:5])}" for thing in things
    )
    return _TAKEN_BACK.search(text) is not None or any(re.search(pattern, text) for pattern in denied)


def recalls(answer: str, accept: Sequence[str], reject: Sequence[str] = ()) -> bool | None:
    """Whether ``answer`` gives the fact that it was asked for; None if it gives a wrong one instead.

    A hedged or doubtful answer still recalls ("was it not Marta?"), a denied one does not ("it was not
    Marta"). An answer with both the right and the wrong fact does not recall.
    """
    text = normalised(answer)
    if _undenied(text, [any_case(pattern) for pattern in reject]):
        return None
    return bool(_undenied(text, [any_case(pattern) for pattern in accept]))


def mentions(text: str, patterns: Sequence[str]) -> bool:
    """Whether ``text`` matches one of ``patterns``, which are searched as :func:`recalls` does."""
    return bool(_first(normalised(text), [any_case(pattern) for pattern in patterns]))


def any_case(pattern: str) -> str:
    """``pattern`` as it can match normalised text, however it is written."""
    return f"(?i:{pattern.replace('ё', 'е').replace('Ё', 'Е')})"


def _first(text: str, patterns: Sequence[str]) -> str:
    return next((pattern for pattern in patterns if re.search(pattern, text)), "")


def _undenied(text: str, patterns: Sequence[str]) -> str:
    """The first pattern with a match that no word before it denies."""
    for pattern in patterns:
        for match in re.finditer(pattern, text):
            sentence, start = _sentence_at(text, match.start())
            before, after = sentence[: match.start() - start], sentence[match.end() - start :]
            if pattern.startswith(AS_IS) or not (_denied(before) or denied_after(after)):
                return pattern
    return ""


def _denied(before: str) -> bool:
    """Whether one of the last words of ``before`` negates what follows."""
    return bool(_NEGATIONS & set(_WORD.findall(_INTERJECTION.sub(" ", before))[-NEGATABLE_WORDS:]))


def _negated(before: str, after: str) -> bool:
    """Whether the clause around a match negates it: ``before`` and ``after`` are the rest of its sentence."""
    plain = _INTERJECTION.sub(" ", before)
    near, rest = _CLAUSE.split(plain)[-1], _CLAUSE.split(after)[0]
    near = plain if _EVEN.search(near) else near
    return (
        _denied(near)
        or denied_after(after)
        or bool(_FAR_NEGATIONS & {*_WORD.findall(near), *_WORD.findall(rest)})
    )


def _doubted(before: str, after: str, *, exactly: bool) -> bool:
    """Whether the words around a match leave it out or make it a guess.

    ``exactly``: also if they make it inexact.
    """
    last = " ".join(before.split()[-NEGATABLE_WORDS - 2 :])
    if _BARRED.search(last) or left_out(after) or _HEDGES.search(before + " " + after):
        return True
    if not exactly:
        return False
    changed = _BESIDE.search(before) or _CHANGED.match(after) or _INEXACT.search(before + " " + after)
    return changed is not None or inexact(before, after)


def _asserted(text: str, asked: str, patterns: Sequence[str], *, doubtful: bool = False) -> tuple[str, str]:
    """(the first pattern that the text asserts, why a match was left aside); empty for none.

    ``doubtful``: one negated match of a pattern casts doubt on its others ("A. No, not A." asserts nothing).
    """
    hit, doubt = "", ""
    for pattern in patterns:
        literal = pattern.startswith(AS_IS)
        found = re.finditer(pattern, text)
        problems = {
            _praised(text, match) if literal else _problem(text, asked, match, exactly=doubtful)
            for match in found
        }
        problems.discard(REPEATED)
        if doubtful and NEGATED in problems:
            doubt = NEGATED
        elif "" in problems:
            hit = hit or pattern
        elif problems:
            doubt = DOUBTED if DOUBTED in (doubt, *problems) else doubt or min(problems)
    return hit, "" if hit else doubt


def _praised(text: str, match: re.Match[str]) -> str:
    """Why a negative phrase does not count: it praises."""
    return DOUBTED if _PRAISE.match(text, match.end()) else ""


def _problem(text: str, asked: str, match: re.Match[str], *, exactly: bool) -> str:
    """Why a match asserts nothing; empty if it does. ``exactly``: see :func:`_doubted`."""
    sentence, start = _sentence_at(text, match.start())
    if repeats(sentence, asked):
        return REPEATED
    rest = _REST_OF_WORD.match(text, match.end())
    end = rest.end() if rest else match.end()
    before, after = sentence[: match.start() - start], sentence[end - start :]
    if _negated(before, after):
        return NEGATED
    if asks(sentence):
        return "the answer is only asked"
    almost = exactly and _ALMOST.search(before + match.group()) is not None
    return DOUBTED if almost or _doubted(before, after, exactly=exactly) else ""


def _sentence_at(text: str, place: int) -> tuple[str, int]:
    for sentence in SENTENCE.finditer(text):
        if sentence.start() <= place < sentence.end():
            return sentence.group(), sentence.start()
    return text, 0


def in_language(text: str, language: str) -> bool:
    """Whether ``text`` can be in ``language``: its script fits, and no other language's words prevail.

    Short texts (names, numbers) fit every language of their script.
    """
    letters = [c for c in text if c.isalpha()]
    if not letters:
        return True
    script = script_of(language) or "Latn"
    names = [unicodedata.name(c, "") for c in letters]
    fitting = sum(name.startswith(_SCRIPTS.get(script, "")) for name in names)
    if fitting < 0.6 * len(letters):
        return False
    kana = any(name.startswith(("HIRAGANA", "KATAKANA")) for name in names)
    if script == "Jpan" and len(letters) >= _KANA_DUE and not kana:
        return False  # Chinese
    words = _WORD.findall(text.casefold())
    counts = {code: sum(word in known for word in words) for code, known in FUNCTION_WORDS.items()}
    own = counts.get(language.partition("-")[0])
    return own is None or max(counts.values()) < max(3, 2 * own)
