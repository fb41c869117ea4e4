"""Notices that a reply takes back a verdict that it holds, so that it has to be asked for again.

What follows a verdict may explain it, sum it up or say goodbye. It is a doubt if it announces a change
("Actually, I would give it a 2"), or if it names another number for a criterion than the verdict gives.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

from bench.replies.later import Later

Numbers = dict[str, str]
"""The numbers and booleans of an object, as text, by key."""

_DIGITS: Final = {"zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}
_NUMBER: Final = (
    rf"(?:-?[0-9]{{1,9}}(?:\.0+)?|true|false|{'|'.join(_DIGITS)})(?![\w%]|[.,][0-9]| ?[-–] ?[0-9])"
)
_ENDS: Final = ("_score", "_margin")
_WHOLE: Final = Later(rf"\s*{_NUMBER}\s*", re.IGNORECASE)
_SENTENCES: Final = Later(r"(?<=[.!?])\s+|[\n。！？!?]+")
_QUOTED: Final = Later(
    r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|«[^»\n]{0,400}»|„[^„“”\n]{0,400}[“”]|「[^「」\n]{0,400}」"
    r"|(?<!\w)['‘](?:[^'‘’\n]|(?<=\w)['’](?=\w)){0,400}['’](?!\w)"
)
_MARKED: Final = Later(r"\[\[\s{0,3}(-?[0-9]{1,9})\s{0,3}\]\]")
"""A final score that is read on its own."""
_AVERAGE: Final = Later(
    r"average|confiden|\bavg|\bmean\b|median|overall|total|\bsum\b|средн|итог|平均|durchschn|moyenne|promedio",
    re.IGNORECASE,
)
_TURN: Final = Later(r"\bturn\W{0,3}([0-9]{1,3})\b", re.IGNORECASE)
_OF_TURN: Final = Later(r"(?:turn[ _-]?)?([0-9]{1,3})", re.IGNORECASE)
"""A key whose value is about one turn."""
_CHANGE: Final = (
    "(?:chang|revis|correct|amend|adjust|alter|updat|modif|lower|rais|reduc|increas|decreas|reconsider|withdraw"
    "|retract|downgrad|upgrad|bump|swap|fix|drop)"
)
_SHOULD: Final = (
    "(?:really|actually|rather|instead|now|only|just|be|been|get|receive|have|become|read|say|an?|at|set|scored"
    "|rated|given|changed|marked|lowered|reduced|raised|more|like|closer|to|as)"
)
_WOULD: Final = (
    "(?: (?:would|should|will|must|want|need|have|ought|going|like|prefer|to|now|also|actually|rather|really"
    "|instead|therefore|thus|am))*"
)
_NO_CHANGE: Final = Later(
    r"\bif (?:you|needed|necessary|there|any|desired|required|the|it|he|she|they)\b|\blet me know\b"
    r"|\bfeel free\b|\b(?:happy|glad) to\b|\bwould you like\b|\byou (?:can|may|would|want|could)\b"
    rf"|(?:\b(?:no|not|never|without|nothing|none)\b|n['’]t\b)[^,;:]{{0,30}}\b(?:{_CHANGE}|mistake|error|needed)"
    r"|\bне (?:треб|нуж|измен|исправ)"
    r"|^\W*(?:correction|edit|update|erratum|revision)s?\W{1,4}(?:none|null|n/?a|nothing|false)\W*$",
    re.IGNORECASE,
)
"""In a sentence: it offers a change, speaks of one that was not made, or says that none is needed."""
_CHANGES: Final = Later(
    r"^\W*(?:correction|edit|update|erratum|revision|oops|whoops|(?:my )?apologies|sorry|hold on|wait"
    r"|korrektur|corrección|correção|rectification|исправление|поправка)\s*(?:[:,.!—–…-]|$)"
    r"|\b(?:scratch that|disregard|on second thoughts?|(?:up)?on (?:further |closer |more careful |second )?"
    r"(?:reflection|reconsideration|look|inspection|re-?reading|review|examination)"
    r"|looking (?:at (?:it|this|that|them) )?again|i take (?:\w+ ){0,4}back|chang(?:ed?|ing) my mind"
    r"|i (?:was|am) (?:wrong|mistaken|too (?:harsh|generous|lenient|strict|kind))|i meant"
    r"|i (?:\w+ ){0,2}(?:made an? (?:\w+ )?(?:mistake|error)|mixed up|misread|misjudged|mis-?scored|swapped"
    r"|overlooked|forgot to))\b"
    r"|[0-9] ?(?:→|[=-]>) ?[0-9]|\b(?:in hindsight|strike that)\b"
    r"|\bignor(?:e|ing) [^.]{0,30}\b(?:above|previous|first|earlier|prior|json|scores?|verdict)\b"
    r"|\b(?:revised|corrected|updated|amended|adjusted|reconsidered) (?:\w+ ){0,3}"
    r"(?:scores?|verdicts?|ratings?|evaluation|json|assessment|judge?ment)\b"
    rf"|\b(?:let me|i(?:['’](?:d|ll|m))?{_WOULD}) {_CHANGE}(?:e|se|ify)?\b(?! (?:\w+ )?(?:concern|awareness))"
    rf"|\bshould(?: {_SHOULD})+ (?:{_NUMBER}|lower|higher)(?! ?(?:-|–|to|or|through) )"
    r"|(?:\b(?:scores?|ratings?|verdict|evaluation|json|grade|an? [0-9])\b[^.]{0,40}|^\W*(?:that|this) )\b"
    r"(?:(?:is|are|was|were|seems?) (?:wrong|incorrect|mistaken|swapped|too (?:high|low|generous|harsh))"
    r"|(?:has|have|had|contains?) (?:an? |some )?(?:mistake|error))"
    r"|^\W*(?:swap (?:\w+ and|(?:(?:the|these|those|both) )?(?:\w+ )?"
    r"(?:scores?|ratings?|numbers|turns?|them))"
    r"|(?:add|subtract|deduct) (?:an?|one|half|[0-9]) )\b"
    rf"|^\W*(?:actually|rather|better|make (?:it|that)|скорее|eher|lieber|plutôt|mejor),? ?{_NUMBER}"
    r"(?=\s*\Z|[^\w\s]| (?:points?|for|in|on|at|is|was|would|instead|rather|because|since|as|than|not|and|or"
    r"|out|за|чем|für|bei|als|pour|para)\b)"
    r"|^\W*(?:(?:h+m+|wait|no|that|this|it)(?:['’]s| is| was| seems)?\W+)*"
    r"(?:(?:a bit|rather|probably|perhaps) )?too (?:harsh|strict|lenient|generous|kind|high|low)\W*$"
    r"|\bactually\b[^.]{0,40}\b(?:lower|higher) (?:score|rating)|\bsollte [0-9]+ sein"
    r"|пересматрива|передума|я бы (?:измени|постави|снизи|повыси|понизи)|\bя ошиб|на самом деле[^.]{0,40}\d"
    r"|ich würde [^.]{0,40}(?:ändern|senken|anheben|geben)"
    r"|würde ich [^.]{0,40}(?:ändern|senken|anheben|geben)|habe mich (?:geirrt|vertan)"
    r"|je (?:mettrais|changerais|corrige|révise)|cambiaría|me equivoqu|corrijo"
    r"|更正|(?:纠正|改为|改成|修正|やはり|やっぱり)[^。]{0,10}[0-9分]|(?:纠正|修正)[:：]|应(?:该|当)?(?:为|是|给)\D{0,3}\d"
    r"|重新考虑|收回|作废|訂正|取り消|정정|수정합니다",
    re.IGNORECASE,
)
"""In a sentence: it announces a change, or says that something is wrong with the verdict."""
_REMARK: Final = Later("note|comment|remark|correct|revis|updat|edit|amend|final|error", re.IGNORECASE)
"""In a key: its text may be about the verdict as a whole."""
_NO_SCORE: Final = Later(
    r"max|minim|weight|scale|range|count|errors|issues|mistakes|typos|penalt|deduct", re.IGNORECASE
)
"""In a key: its numbers are no scores."""
_COUNTS: Final = Later(
    r"\bturns? [0-9]{1,3}(?:(?:, ?| and | & | to |[-–])[0-9]{1,3})*"
    r"|(?:/|\bout of|\bof|\bиз|\bvon|\bsur|满分) ?"
    r"[0-9]{1,3}\b|[0-9]{1,3}(?:点|分)満点"
    r"|\b(?:above|below|over|under|beyond"
    r"|(?:higher|lower|more|less|better) than)(?: an?)? [0-9]{1,3}\b"
    r"|[0-9]{1,3} ?[-–] ?[0-9]{1,3}\b|\b[01](?: \([^()]{1,30}\))? to [0-9]{1,3}\b"
    r"|\b(?:not|miss(?:ed|es)?|short of|close to|nearly|almost|to (?:get|earn|reach|deserve))"
    r"(?: an?)? [0-9]\b"
    r"|\b(?:by|deducted|subtracted|lost|loses|docked|off) [0-9] points?\b"
    r"|\b[0-9]{1,4} (?!(?:из|von|sur"
    r"|for|at|in|and|or|instead|rather|would|is|but|to|of|because|since|as|not|out|points?"
    r"|on|with|from|than|might|may|now|here|both|across|due|when|where|though|although|was)\b)[^\W\d]{2}"
    r"|^\W*[0-9]{1,2}[.)] |[0-9]{1,4}-[^\W\d]{2}|\b1, 2, 3[0-9, ]*|[0-9]{1,3} ?= ?[^\W\d]{2}",
    re.IGNORECASE,
)
"""Numbers that are not scores: of turns, scales, things and items of a list, scores that were not reached."""
_SCORE: Final = Later(r"(?<![\w.,-])[0-9]{1,3}(?![\w%]|[.,][0-9])")
_ABOUT_SCORES: Final = Later(
    r"\bi(?:['’]d| would)?(?: \w{1,10})? (?:give|gave|assign|award)\b"
    r"|\b(?:scor|rat(?:e|ing)|verdict|grade|judg|turn\b|deserv|an? [0-9])|оценк|оцен|балл|评分|分\b",
    re.IGNORECASE,
)
_NOT: Final = Later(r"\b(?:no|not|none|neither|nor|never)\b|n['’]t\b", re.IGNORECASE)
_REFUSAL: Final = Later(
    r"\b(?:is|was|are|were|be|been|constitutes?|(?:count|flag|treat|mark|consider)\w*(?: \S+){0,3} as)"
    r"(?: (?:actually|clearly|really|also|in fact))?(?: an?)? refusals?\b",
    re.IGNORECASE,
)


def numbers_in(value: Any, known: Collection[str]) -> list[Numbers]:
    """What each object in ``value`` gives under ``known`` keys, or under the names of criteria alone."""
    found: list[Numbers] = []
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, dict):
            continue
        numbers: Numbers = {}
        for key, inner in item.items():
            if isinstance(inner, dict | list):
                turn = _OF_TURN.fullmatch(key)
                of_turn = {"turn": turn[1]} if turn and "turn" in known else {}
                found += [] if _AVERAGE.search(key) else [n | of_turn for n in numbers_in(inner, known)]
            elif name := _known(key, known):
                marked = _MARKED.search(inner) if isinstance(inner, str) else None
                if _WHOLE.fullmatch(number := marked[1] if marked else str(inner)):
                    numbers[name] = _plain(number)
        if numbers:
            found.append(numbers)
    return found


def differs(value: Any, given: Sequence[Numbers], known: Collection[str]) -> bool:
    """Whether an object in ``value`` gives numbers that no object of a verdict gives."""
    others = numbers_in(value, known)
    return any(not any(other.items() <= entry.items() for entry in given) for other in others)


def takes_back(text: str, given: Sequence[Numbers], known: Collection[str]) -> bool:
    """Whether prose changes a verdict that gives these numbers."""
    refusals = {entry["is_refusal"] for entry in given if "is_refusal" in entry} or {"true"}
    for sentence in _SENTENCES.split(_MARKED.sub(" ", text)):
        said = _QUOTED.sub(" ", sentence)
        if not said.strip() or _NO_CHANGE.search(said):
            continue
        if _CHANGES.search(said):
            return True
        if _AVERAGE.search(said):
            continue
        if _names_another(sentence, given, known):
            return True
        if _gives_another(said, given, known):
            return True
        if "true" not in refusals and _REFUSAL.search(said) and not _NOT.search(said):
            return True
    return False


def revised_inside(data: dict[str, Any], known: Collection[str]) -> bool:
    """Whether keys of a verdict that were not asked for change it."""
    if _only(data, frozenset(known)):
        return False
    for item in _objects(data, known):
        extra = [key for key in item if key not in known]
        given = numbers_in(_asked(item, known), known) if extra else []
        for key in extra if given else ():
            value = item[key]
            if not value or (
                _NO_SCORE.search(key) and (isinstance(value, dict) or _WHOLE.fullmatch(str(value)))
            ):
                continue
            if not isinstance(value, dict | list):
                names = _names(frozenset(known))
                about = _REMARK.search(key) or (names.search(key) and _WHOLE.fullmatch(str(value)))
                if about and takes_back(f"{key.replace('_', ' ')}: {value}", given, known):
                    return True
            elif not _AVERAGE.search(key) and differs(value, given, known):
                return True
    return False


def _only(value: Any, known: frozenset[str]) -> bool:
    """Whether a verdict has no other keys than those that were asked for, as most have."""
    if type(value) is dict:
        if not known.issuperset(value):
            return False
        value = value.values()
    return all(_only(item, known) for item in value if type(item) is dict or type(item) is list)


def _objects(value: Any, known: Collection[str]) -> Iterator[dict[str, Any]]:
    """The objects of a verdict, without those under keys that were not asked for."""
    if isinstance(value, dict):
        yield value
    inner = [v for k, v in value.items() if k in known] if isinstance(value, dict) else value
    for item in inner:
        if isinstance(item, dict | list):
            yield from _objects(item, known)


def _asked(value: Any, known: Collection[str]) -> Any:
    """``value`` without the keys that were not asked for."""
    if isinstance(value, list):
        return [_asked(item, known) for item in value]
    return {k: _asked(v, known) for k, v in value.items() if k in known} if isinstance(value, dict) else value


def _known(key: str, known: Collection[str]) -> str:
    """The one of ``known`` keys that ``key`` means; empty if it means none."""
    if key in known:
        return key
    name = re.sub(r"[\s-]+", "_", key.strip().lower())
    return next((name + end for end in ("", *_ENDS) if name + end in known), "")


def _names_another(sentence: str, given: Sequence[Numbers], known: Collection[str]) -> bool:
    """Whether a sentence gives a number for a criterion that the verdict does not give."""
    for mention in _mentions(frozenset(known)).finditer(sentence):
        key = _known(mention["name"], known)
        turn = _TURN.findall(sentence[: mention.end()])[-1:]
        of_turn = [entry for entry in given if turn and entry.get("turn") == turn[0]]
        numbers = {entry[key] for entry in of_turn or given if key in entry}
        if numbers and _plain(mention["number"]) not in numbers:
            return True
    return False


def _gives_another(said: str, given: Sequence[Numbers], known: Collection[str]) -> bool:
    """Whether a sentence about scores has a number that a verdict does not give, or not for what it names."""
    numbers = set(_SCORE.findall(_COUNTS.sub(" ", said)))
    if not numbers:
        return False
    named = {_known(name[0], known) for name in _names(frozenset(known)).finditer(said)}
    if not named and not _ABOUT_SCORES.search(said):
        return False
    turns = set(_TURN.findall(said))
    meant = [entry for entry in given if len(turns) == 1 and entry.get("turn") in turns] or given
    everything = {number.lstrip("-") for entry in meant for key, number in entry.items() if key != "turn"}
    of_named = {entry[key].lstrip("-") for entry in given for key in named if key in entry}
    return not numbers <= everything or (bool(of_named) and not numbers & of_named)


@lru_cache(maxsize=64)
def _mentions(known: frozenset[str]) -> Later:
    """Finds a key or a criterion's name, and a number that a sentence gives for it."""
    return Later(
        rf"(?P<name>{_names(known).pattern})"
        r"(?:[ _-](?:score|rating|margin|revised|corrected|final|new|updated|adjusted)){0,2}[\"'*`\]]{0,3}"
        r"(?: ?\([^()]{0,30}\))?(?: (?:score|for|of|in|on|the|turns?|[0-9]{1,3}|bot|answer)){0,5}"
        r" ?(?:[:=→|]|[=-]>|\bis|\bare|\bwas|\bbecomes?|\bshould be|\bto)\s?[\"'*`\[]{0,3}\s?"
        rf"(?:{_NUMBER} ?(?:→|[=-]>|to) ?)?(?P<number>{_NUMBER})",
        re.IGNORECASE,
    )


@lru_cache(maxsize=64)
def _names(known: frozenset[str]) -> Later:
    """Finds a key of a verdict, or the criterion's name in it."""
    keys = {key for key in known if key not in ("turn", "scores") and not key.endswith("explanation")}
    names = {re.sub("[ _-]", "[ _-]", key) for key in keys for key in (key, *_stem(key))}
    return Later(rf"(?<![^\W_])(?:{'|'.join(sorted(names, key=len, reverse=True)) or '(?!)'})", re.IGNORECASE)


def _stem(key: str) -> list[str]:
    """The criterion of a key such as ``fluency_score``."""
    return [key.removesuffix(end) for end in _ENDS if key.endswith(end)]


def _plain(number: str) -> str:
    number = number.strip().lower()
    return _DIGITS.get(number, number.partition(".")[0])
