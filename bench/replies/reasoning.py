"""How models mark their reasoning, and how an answer is separated from it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from bench.replies.later import Later

_LT = r"(?:<|&(?:amp;){0,3}lt;|&#0*+60;|&#x0*+3c;|\uff1c|\\u003c)"
_GT = r"(?:>|&(?:amp;){0,3}gt;|&#0*+62;|&#x0*+3e;|\uff1e|\\u003e)"
_BAR = r"[|\uff5c]"
_JOIN = r"[ _\u2581-]"
_MACHINE = (
    r"(?:[a-z0-9]{1,12}[:_-]|deep|ant)think(?:ing)?|think(?:[:_-][a-z0-9]{1,12})?"
    r"|chain[_-]of[_-]thought|(?:hidden[_-])?cot|scratch[_-]?pad"
    r"|思考(?:过程|過程|中)?|思维(?:过程|链)?|推理(?:过程)?|размышлени[ея]|рассуждени[ея]|мысли"
)
_PART = r"[^\W_]{1,15}"
_COMPOUND = (
    rf"(?:{_PART}[_:.-]){{0,3}}(?:inner|internal|deep|long|self|meta|chain_?of_?)?"
    r"(?:think(?:ing)?|thoughts?|reasoning|reflect(?:ions?)?|monologue|cot|deliberations?|analysis|planning"
    r"|meta[_-]?cognition)"
    r"(?:[_:.-]?(?:[0-9]{1,3}|blocks?|process|content|trace|steps?|aloud|summary|budget|phase|stage|log|notes?"
    r"|section|start|begin|chain|mode|plan|draft|scratch_?pad|and|output|text|reflect)){0,4}"
)
_WORDS = (
    rf"{_COMPOUND}|reasons?|rationale|plan"
    r"|deliberate|ponder(?:ing)?|internal|hidden|mental_model|brainstorm(?:ing)?"
    r"|gedanken?(?:gang)?|denkprozess|überlegung(?:en)?|réflexions?|pensées?|raisonnement|pensamientos?|razonamiento"
    r"|pensamento|raciocínio|pensiero|ragionamento|мысль|ход_мыслей|обдумывание|생각|추론|사고(?:과정)?"
    r"|内心(?:独白|思考)|考える?|думаю|(?:nach)?denken|penser|razonar|विचार|düşünce|تفكير"
)
_ATTRIBUTES = (
    r"(?:\s{1,9}[\w:.-]{1,40}\s{0,3}=\s{0,3}(?:\"[^\"<>]{0,200}\"|'[^'<>]{0,200}'|[^\s\"'<>&]{1,200}"
    r"|&quot;[^<>&]{0,200}&quot;)){0,5}"
)
_NAMES = rf"(?:{_MACHINE}|{_WORDS})"
_TOKEN = "(?:(?!start_|begin_|end_)[a-z]{1,12}_)?(?:think(?:ing)?|thoughts?|reasoning|cot|思考(?:过程|過程)?)"
_NOT_END = r"(?!(?:[\w.:-]{1,20}[_:.-])?end(?![^\W_]))"
_BARRED = f"(?:{_TOKEN}|(?:[a-z]{{1,12}}_)?analysis)"
_LEFT, _RIGHT = "[⟨‹〈《]", "[⟩›〉》]"
_CHANNEL = r"(?:[^<]{0,200}+(?:<\|constrain\|>[^<]{0,50}+)?<\|message\|>)?"
_FINAL = rf"(?:<\|channel\|>\s*+final{_CHANNEL}|<channel>\s*+final\s*+</channel>)"
_STARTS = r"(?:[<\uff1c◁【⟨‹〈《]|&(?:amp;|lt;|#)|\\(?:<|u003c)|\[(?:[\[/]|[^\W\d_]))"
_START = f"(?={_STARTS})"
QUOTES: Final = frozenset(('""', "''", "``", "“”", "‘’"))

_FLAGS = re.IGNORECASE
OPENING: Final = Later(
    rf"{_START}(?:(?P<paired><<{_TOKEN}>>|\[\[{_TOKEN}\]\]|{_LEFT}{_TOKEN}{_RIGHT})"
    rf"|{_LT}\s{{0,3}}{_NOT_END}(?:{_MACHINE}|(?P<word>{_WORDS})){_ATTRIBUTES}\s{{0,3}}{_GT}"
    rf"|\\<(?:{_MACHINE})\\>|◁\s{{0,3}}{_TOKEN}\s{{0,3}}▷|\[THINK\]|\[unused16\]|<(?:unused|ctrl)94>(?:thought)?"
    rf"|(?P<aside>[\[【](?:(?:begin|start)[ _-])?{_TOKEN}(?:[ _-](?:start|begin)|开始|開始)?[\]】])"
    rf"|<{_BAR}?(?:begin|start){_JOIN}?(?:of{_JOIN}?)?{_TOKEN}{_BAR}?>"
    rf"|<{_BAR}{_BARRED}(?:{_JOIN}?(?:start|begin))?{_BAR}>"
    r"|<\|inner_prefix\|>|<\|channel>\s{0,3}(?:thought|analysis)"
    rf"|(?P<channel><\|im_start\|>\s*+(?:assistant/)?(?:think(?:ing)?|thoughts?|reasoning|analysis)\b"
    r"|<channel>\s*+(?:analysis|commentary)\s*+</channel>"
    rf"|(?:<\|start\|>assistant)?<\|channel\|>\s*+(?:analysis|commentary){_CHANNEL}))",
    _FLAGS,
)
"""Starts a reasoning block. Group ``channel`` matches gpt-oss's marks, which end differently; groups ``word``
and ``aside`` match marks that may also be a stage direction, ``paired`` those that may be a name."""

_CLOSE = (
    rf"(?:<<(?:/|end[ _]){_TOKEN}>>|\[\[/{_TOKEN}\]\]|{_LEFT}/{_TOKEN}{_RIGHT}"
    rf"|{_LT}\s{{0,3}}\\{{0,2}}[/\\]\s{{0,3}}{_NAMES}\s{{0,3}}{_GT}|</think(?:ing)?[ \t\r]*+(?=\n|\Z)"
    rf"|\\</{_NAMES}\\>|◁\s{{0,3}}/\s{{0,3}}{_TOKEN}\s{{0,3}}▷|\[unused17\]|<(?:unused|ctrl)95>"
    rf"|[\[【](?:/{_TOKEN}|end[ _-]{_TOKEN}|{_TOKEN}(?:[ _-]end|结束|結束))[\]】]"
    rf"|<(?:/{_BAR}|{_BAR}/){_BARRED}{_BAR}>"
    rf"|<{_BAR}?end{_JOIN}?(?:of{_JOIN}?)?{_TOKEN}{_BAR}?>|<{_BAR}?{_BARRED}(?:{_JOIN}|:)?end{_BAR}?>"
    rf"|<{_BAR}(?:final_)?(?:answer|response|final|reply)(?:_start)?{_BAR}>"
    r"|<\|inner_suffix\|>|<channel\|>|\[BEGIN FINAL RESPONSE\]"
    rf"|(?:<\|end\|>\s*+)?(?:<\|begin\|>assistant)?<\|content\|>|{_FINAL})"
)
CLOSING: Final = Later(_START + _CLOSE, _FLAGS)
"""Ends a reasoning block whose opening mark was in the prompt and not in the reply."""

_BLOCK_END: Final = Later(_CLOSE, _FLAGS)
_CHANNEL_END: Final = Later(
    r"<\|(?:end|call)\|>|<\|im_end\|>(?:\s*+<\|im_start\|>\s*+(?:answer|assistant|final)\b)?"
    rf"|<\|im_start\|>\s*+(?:answer|assistant|final)\b|{_FINAL}",
    _FLAGS,
)
MARKERS: Final = Later(r"<[|\uff5c][\w\u2581]{1,40}[|\uff5c]>(?:assistant\b)?|\[END FINAL RESPONSE\]")
"""Special tokens of chat templates that were left in the text: neither answer nor prose."""

_MARK: Final = Later(rf"(?P<open>{OPENING.pattern})|(?P<close>{CLOSING.pattern})", _FLAGS)
MAY_MARK: Final = Later(_STARTS, _FLAGS)
"""Text without any of these has no mark. The long pattern takes long to compile, so most runs do without."""
_STRIPPED_CHANNELS = ("analysis", "commentary", "assistantanalysis")
_STRIPPED_FINAL = "assistantfinal"
_TITLE = r"(?:(?:my|internal|inner|hidden)[ ])?(?:thinking|thoughts?|reasoning)"
_FOLD = (
    r"<details\b(?:[^<>]{0,200}\b(?:reasoning|thinking)\b[^<>]{0,200}>"
    r"|[^<>]{0,200}>\s*+<summary>[^<>]{0,80}(?:\b(?:thinking|thoughts?|reasoning)\b|思考|推理|размышл|рассужд)"
    r"[^<>]{0,80}</summary>)"
)
_FENCE = r"(?:`{3,5}|~{3,5}|:{3,5})[ ]?(?:think(?:ing)?|thoughts?|reasoning)(?:[ ]process)?[ \t\r]*+\n"
_QUOTED = (
    r"(?:>[ ]?)?(?:\*{1,3}|_)?(?:[💭🤔🧠][ ]?)?"
    r"(?:thinking|reasoning|thought(?:[ ]for[ ](?:[0-9]|a[ ])[^\n,]{0,20})?)"
    r"(?:\.\.\.|…)?(?:[ ]?\([^()\n]{1,20}\))?:?(?:\*{1,3}|_)?[ \t\r]*+\n(?:[ \t\r]*+\n)?[ \t]*+>"
)
_LABEL = r"(?:\#{1,6}[ ]|={2,5}[ ]?|-{2,5}[ ])?(?:\*{1,3}|__)?(?:[💭🤔🧠💬📝][ ]?)?\[?"
_LABEL_END = r"\]?:?(?:\*{1,3}|__)?:?(?:[ ]?={2,5}|[ ]-{2,5})?[ \t\r]*+\n"
_FOREIGN_TITLE = (
    r"(?:(?:我的)?思考(?:过程|過程)?|推理(?:过程)?|思维链|мысли|рассуждени[ея]|размышлени[ея]|ход[ ]мыслей"
    r"|gedanken(?:gang)?|überlegung(?:en)?|raisonnement|réflexion|razonamiento|pensamiento|raciocínio|생각|추론)"
)
_FOREIGN_ANSWER = (
    r"(?:最终)?(?:回答|答案|回复|答复)|(?:итоговый[ ])?ответ|(?:endgültige[ ])?antwort|réponse(?:[ ]finale)?"
    r"|respuesta(?:[ ]final)?|resposta(?:[ ]final)?|답변"
)
_HEADING = r"(?:\#{1,6}[ ]|\*{2,3}|__)"
_SHOWN = (
    "answer|response|reply|output|final|act|scen|sett|narrat|dialog|emot|mood|expression|gesture|descri|speech"
    "|spoken|said|say|voice|tone|stage|aside|body|place|location"
)
"""Tags that begin like these hold what a character does or where it is, which is part of its answer."""
_BY_HEADINGS: Final = Later(
    rf"\s*+(?:{_LABEL}(?:here(?:'s|[ ]is)[ ](?:my|a|the)[ ])?{_TITLE}(?:[ ](?:process|start))?{_LABEL_END}"
    rf".*?\n[ \t]*+{_LABEL}(?:(?:here(?:'s|[ ]is)[ ]my[ ])?(?:final[ ])?(?:answer|response|reply)"
    rf"|end[ ](?:of[ ])?{_TITLE}|{_TITLE}[ ]end){_LABEL_END}"
    rf"|{_HEADING}{_TITLE}(?:[ ]process)?{_LABEL_END}.*?\n[ \t]*+(?:-{{3,}}|\*{{3,}}|_{{3,}})[ \t\r]*+\n"
    r"|(?:\*\*)?(?:thinking|thoughts?|reasoning)(?:[ ]process)?(?:\*\*)?:(?:\*\*)?[ ].*?"
    r"\n[ \t]*+(?:\*\*)?(?:final[ ](?:answer|response|reply)|response|reply)(?:\*\*)?:(?:\*\*)?"
    r"|here(?:'s|[ ]is)[ ]my[ ]thought[ ]process:.*?\bhere(?:'s|[ ]is)[ ]my[ ]response:"
    rf"|[\[【](?:{_TITLE}|{_FOREIGN_TITLE})[\]】].*?"
    rf"[\[【](?:(?:final[ ])?(?:answer|response|reply)|{_FOREIGN_ANSWER})[\]】]"
    rf"|(?:\*\*|\#{{1,6}}[ ])?{_FOREIGN_TITLE}(?:\*\*)?[:：](?:\*\*)?.*?"
    rf"\n\s*+(?:\*\*|\#{{1,6}}[ ])?(?:{_FOREIGN_ANSWER})(?:\*\*)?[:：](?:\*\*)?"
    rf"|{_FOLD}.*?</details>|(?={_FENCE})(?P<fence>[`~:]{{3,5}}).*?(?P=fence)[ \t\r]*+(?=\n|\Z)"
    rf"|{_QUOTED}[^\n]*+(?:\n[ \t]*+>[^\n]*+)*+"
    r"|<!--\s*+(?:think(?:ing)?|thoughts?|reasoning|internal|analysis)\b.*?-->"
    r"|<(?P<box>div|span|p|section)\s[^<>]{0,100}\b(?:thinking|reasoning)\b[^<>]{0,100}>.*?</(?P=box)>"
    rf"|<(?P<name>(?!{_SHOWN})[\w:.-]{{1,40}})>.*?</(?P=name)>\s*+"
    r"(?=<(?:final_?)?(?:answer|response|reply|output)>)"
    r"|(?:<\|im_start\|>assistant)?/think[ \t\r]*+\n.*?<\|im_end\|>(?:\s*+<\|im_start\|>assistant\b)?"
    r"|thinking(?:\.\.\.|…)[ \t\r]*+\n.*?\n[ \t]*+(?:\.\.\.|…)?[ ]?done[ ]thinking[.…]*)",
    _FLAGS | re.DOTALL | re.VERBOSE,
)
"""Reasoning from the first line on, under a heading of its own, up to the answer's heading, or folded."""
_LONE_HEADING: Final = Later(
    rf"\s*+(?:{_LABEL}(?:here(?:'s|[ ]is)[ ](?:my|a|the)[ ])?(?:thinking|thought|reasoning)[ ]process"
    rf"{_LABEL_END}|here[ ]are[ ]my[ ]reasoning[ ]steps:"
    rf"|{_HEADING}(?:thinking|thoughts?|reasoning){_LABEL_END}|thinking(?:\.\.\.|…)[ \t\r]*+\n"
    rf"|{_FOLD}|{_FENCE}|{_QUOTED}|/think[ \t\r]*+\n|analysis(?-i:[A-Z]|<\|message\|>))",
    _FLAGS | re.VERBOSE,
)
"""Starts such reasoning where no heading of an answer follows."""
_FENCED: Final = Later(r"```\w*+[ \t\r]*+\n\s*+\Z")
_FENCE_END: Final = Later(r"\s*+```[ \t\r]*+(?=\n|\Z)")
"""What stands around a block of reasoning in a code fence of its own."""
MENTIONED_WORDS = 6
"""Words between two marks that a sentence only mentions, at most; more words are reasoning."""
_GOES_ON: Final = Later(r"[,;]|[.!?](?=\s|\Z)|\)(?=[\s.,;!?]|\Z)|[ ][—–-][ ](?-i:[a-zа-яäöüß])")
"""Behind a mark: the sentence that mentions it goes on or ends. No answer starts like this."""
_STOP: Final = Later(r"[.!?\n]")
_WRAPPED: Final = Later(
    rf"(?:<(?P<before>summary|caption)>[^<]{{0,2000}}</(?P=before)>\s*+)*+{_LT}(?P<tag>(?:final_?)?(?:answer|response|output|reply|solution|conclusion|final)"
    rf"|回答|答案|ответ|antwort|réponse|respuesta|답변){_GT}"
    rf"(?P<text>.*?)(?:{_LT}/(?P=tag){_GT})?\Z",
    _FLAGS | re.DOTALL,
)


_IN_FENCE: Final = Later(r"\s*+```(?:json)?\s*+(?P<text>\{.*\})\s*+```\s*+", _FLAGS | re.DOTALL)
_REASONING_KEY: Final = Later(_NAMES, _FLAGS)
_ANSWER_KEY: Final = Later(r"(?:final[ _]?)?(?:answer|response|reply|output|message|utterance)", _FLAGS)


@dataclass(frozen=True, slots=True)
class Separated:
    """An answer without its reasoning. ``unclosed``: the last block of reasoning does not end."""

    answer: str
    reasoning: str = ""
    unclosed: bool = False


def separated(text: str, *, cut: bool) -> Separated:
    """Separate the answer in prose ``text`` from reasoning in any of the known markings.

    A tag in a sentence that is never closed is prose, unless the text was ``cut`` off. Text without marks is
    returned as it is.
    """
    if text.lstrip()[:1] in ("{", "`") and (parts := _in_keys(text)):
        return parts
    start = _prose_end(text)
    if start is None and cut and _LONE_HEADING.match(text) and not CLOSING.search(text):
        return Separated("", text.strip(), unclosed=True)
    blocks, unclosed = _blocks(text, start or 0, cut)
    if not blocks:
        return Separated(text)
    pieces, at = [], 0
    for first, end in blocks:
        pieces.append(text[at:first])
        at = end
    answer = MARKERS.sub("", "".join((*pieces, text[at:]))).strip()
    if wrapped := _WRAPPED.fullmatch(answer):
        answer = wrapped["text"].strip()
    return Separated(answer, bare(text[first:end] for first, end in blocks), unclosed)


def _in_keys(text: str) -> Separated | None:
    """Reasoning and answer of a text that is nothing but an object with a key for each; None for another."""
    wrapped = _IN_FENCE.fullmatch(text)
    try:
        data = json.loads(wrapped["text"] if wrapped else text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        return None
    thoughts = [key for key in data if _REASONING_KEY.fullmatch(key)]
    answers = [key for key in data if _ANSWER_KEY.fullmatch(key)]
    if not thoughts or len(answers) != 1 or len(data) > len(thoughts) + 1:
        return None
    return Separated(data[answers[0]].strip(), "\n\n".join(data[key] for key in thoughts))


def bare(blocks: Iterable[str]) -> str:
    """Blocks of reasoning as one text, without their marks."""
    texts = (MARKERS.sub("", _MARK.sub("", block)).strip() for block in blocks)
    return "\n\n".join(text for text in texts if text)


def _prose_end(text: str) -> int | None:
    """Where reasoning that begins the text ends by a heading or a bare channel name; None without one."""
    if start := answer_start(text):
        return start
    headings = _BY_HEADINGS.match(text)
    return headings.end() if headings else None


def _blocks(text: str, start: int, cut: bool) -> tuple[list[tuple[int, int]], bool]:
    """Places of the blocks of reasoning, the first of them up to ``start``, and whether the last never ends.

    A closing mark without an opening one ends reasoning that began with the text.
    """
    blocks = [(0, start)] if start else []
    if not MAY_MARK.search(text, start):
        return blocks, False
    opened: re.Match[str] | None = None
    depth = closed = 0
    at, lead = start, len(text) - len(text.lstrip())
    while mark := _MARK.search(text, at):
        at = mark.end()
        if mentioned(text, mark) and (mark["open"] or not depth or text[at] == "`"):
            continue
        if not depth and _in_sentence(text, mark.start(), at):
            continue
        if depth and mark["open"] and among_words(text, mark):
            continue
        if mark["channel"] and not depth:
            end = _CHANNEL_END.search(text, at)
            at = end.end() if end else len(text)
            blocks.append((mark.start(), at))
            if end is None:
                return blocks, True
        elif mark["open"]:
            opened = opened if depth else mark
            depth += 1
        elif opened is None:
            blocks = blocks if among_words(text, mark) else [(0, at)]
        else:
            depth, closed = depth - 1, at
            if not depth:
                blocks += _block(text, opened, mark, lead)
                opened, closed = None, 0
    if opened is None:
        return blocks, False
    if closed and not cut:  # a mark was mentioned in the reasoning
        return [*blocks, (opened.start(), closed)], False
    if opened["paired"]:
        return blocks, False
    in_words = among_words(text, opened)
    sure = not (opened["word"] or opened["aside"] or in_words)
    if sure or (cut and not (opened["word"] and in_words)) or _stands_alone(text, opened):
        return [*blocks, (opened.start(), len(text))], True
    return blocks, False


def _block(text: str, opening: re.Match[str], closing: re.Match[str], lead: int) -> list[tuple[int, int]]:
    """The block between two marks, with a code fence around it; none if the text only talks of the marks.

    The words of ``text`` begin at ``lead``.
    """
    start, end = opening.start(), closing.end()
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    inside = bare([text[start:end]])
    short = len(inside.split()) <= MENTIONED_WORDS and "\n" not in inside
    quoted = around in QUOTES and (start - 1 > lead or text[end + 1 :].strip())
    if quoted or (short and _in_sentence(text, start, end)):
        return []
    named = (
        among_words(text, opening) and among_words(text, closing) and text[start - 2] != ":"
    )  # a speaker's
    if short and named and not _STOP.search(inside):
        return []
    fence, rest = _FENCED.search(text, max(0, start - 40), start), _FENCE_END.match(text, end)
    if fence and rest:
        return [] if fence.start() > lead else [(fence.start(), rest.end())]
    while start and text[start - 1] in "*_" and text[start - 1] == text[end : end + 1]:
        start, end = start - 1, end + 1
    return [(start, end)]


def _in_sentence(text: str, start: int, end: int) -> bool:
    """Whether a sentence goes on around what stands there: words before it on its line, a comma behind it."""
    before = text[max(0, start - 200) : start].rpartition("\n")[2]
    return bool(before.strip()) and _GOES_ON.match(text, end) is not None


def among_words(text: str, mark: re.Match[str]) -> bool:
    """Whether a mark without its other half stands among the words of a sentence, which goes on behind it."""
    before = text[max(0, mark.start() - 2) : mark.start()]
    return (before[:1].isalnum() or before[:1] == ":") and before[1:] == " " and _word_follows(text, mark)


def _word_follows(text: str, mark: re.Match[str]) -> bool:
    """Whether a small letter comes after ``mark`` and a space, as in the middle of a sentence."""
    after = text[mark.end() : mark.end() + 2]
    return after[:1] == " " and after[1:].islower()


def _stands_alone(text: str, mark: re.Match[str]) -> bool:
    """Whether a tag that may be a stage direction begins the text, on a line of its own."""
    return not text[: mark.start()].strip() and text[mark.end() :].lstrip(" \t").startswith("\n")


def in_the_middle(text: str) -> bool:
    """Whether words of ``text`` come before its first mark, so that they may talk of it."""
    mark = next((m for m in _MARK.finditer(text) if not mentioned(text, m)), None)
    if mark is None or not text[: mark.start()].strip():
        return False
    return mark["open"] is not None or _word_follows(text, mark)


def mentioned(text: str, mark: re.Match[str]) -> bool:
    """Whether ``mark`` stands in quotes: it is mentioned, not used."""
    return text[max(0, mark.start() - 1) : mark.start()] + text[mark.end() : mark.end() + 1] in QUOTES


def closing_after(text: str, opening: re.Match[str]) -> int | None:
    """Where the block that starts at ``opening`` ends; None if it does not end."""
    pattern = _CHANNEL_END if opening["channel"] else _BLOCK_END
    closing = pattern.search(text, opening.end())
    return closing.end() if closing else None


def answer_start(text: str) -> int:
    """Where the answer starts in a text with gpt-oss's channel names without their markers; otherwise 0."""
    if not text[:200].lstrip().startswith(_STRIPPED_CHANNELS):
        return 0
    at = text.find(_STRIPPED_FINAL)
    return 0 if at < 0 else at + len(_STRIPPED_FINAL)


def last_closing(text: str) -> int | None:
    """Where the last closing mark ends; None without one."""
    marks = (mark.end() for mark in CLOSING.finditer(text) if not mentioned(text, mark))
    return max(marks, default=None)
