"""A results tree in which everything that a model or a record may say is an attack."""

from __future__ import annotations

import random
from pathlib import Path

from bench.records import (
    Call,
    Cell,
    Conversation,
    Failure,
    Judgement,
    Message,
    PlayerInfo,
    Scene,
    TurnVerdict,
    Usage,
    messages_sha256,
    sealed,
)
from bench.results import ResultsTree
from bench.results.comparisons import write_comparison
from tests.synthetic_pairs import comparison

BOOM = "window.__pwned=1"
TEXTS = (
    f"<script>{BOOM}</script>",
    f"<img src=x onerror={BOOM}><svg onload={BOOM}>",
    f"</script></title></textarea></details></div></section></article><script>{BOOM}</script>",
    f"<!-- <script>{BOOM}</script> --> --!> <![CDATA[x]]>",
    f"[a](javascript:{BOOM}) <a href='javascript:{BOOM}'>b</a> ![c](data:text/html,<script>{BOOM}</script>)",
    f"<a href='data:text/html,<script>{BOOM}</script>'>d</a> <iframe src='javascript:{BOOM}'></iframe>"
    f" <object data='data:text/html,x'></object> <base href='https://example.invalid/'>",
    f"<meta http-equiv=refresh content='0;url=javascript:{BOOM}'><style>*{{display:none}}</style>"
    f"<link rel=stylesheet href='https://example.invalid/x.css'><math><mtext><script>{BOOM}</script></math>",
    f"# Title {{: onclick={BOOM} id=__search }}\n\n{{: onclick='{BOOM}' }}",
    "{{ 7*7 }} {% for x in ().__class__.__base__.__subclasses__() %}{{ x }}{% endfor %} {# gone #}",
    '--8<-- "/etc/passwd"\n;--8<--\n--8<-- "https://example.invalid/x"',
    f"```mermaid\ngraph TD; A[<img src=x onerror={BOOM}>]\n```\n$$\\href{{javascript:{BOOM}}}{{x}}$$",
    "---\ntitle: owned\nhide: [navigation]\ntemplate: evil.html\n---\n# owned",
    'x" data-search-x="gone" data-md-component="palette',
    "<form id=__config name=search><input name=query></form><a id=t1>clobber</a>",
    "left \u202egnp.exe\u202c \u2066isolated\u2069 \u200b\u2060\ufeff zero \u061c\u200e\u200f"
    " non\u200cjoiner join\u200der \u202a\u202b\u202d\u2067\u2068 soft\u00adhyphen",
    "NUL \x00 STX \x02 ESC \x1b[31m BEL \x07 DEL \x7f C1 \x85\x9b end",
    "line\u2028separator\u2029paragraph\rcarriage\r\nreturn\ttab\x0bvt\x0cff",
    'RCTITLERC RCHEADINGRC RCNAV0000RC <div data-dramaturg="content"></div>'
    ' <div data-dramaturg="home"></div>',
    "invisible \U000e0068\U000e0069 tags, flag "
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e007f, \U0001f468\u200d\U0001f469",
    "&lt;b&gt; &amp;amp; &#0; &#x202e; &nbsp; &lt &unknown;",
    "\n\n  leading and trailing  \n\n",
    ">" * 3000,
    "שלום עולם \u202dabc مرحبا",
    '=HYPERLINK("https://example.invalid")',
    "+1+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "\t=1+1",
    "\ufffe\uffff\U0010ffff noncharacters",
    "",
)
PLAYERS = (
    "../../x",
    "meta-llama/Llama-3.1-70B:free",
    "CON",
    ".git",
    "README",
    "A/b",
    "a/B",
    "index",
    "x" * 300,
    "🦝",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    f"<script>{BOOM}</script>",
    "=cmd|' /C calc'!A0",
)
JUDGES = ("../judge", f'"><script>{BOOM}</script>')


def shown(text: str) -> str:
    """The text content of a page that shows ``text``: NUL cannot be in HTML, so its picture stands for it."""
    return text.replace("\x00", "\u2400")


def hostile_tree(
    root: Path, texts: tuple[str, ...] = TEXTS, players: tuple[str, ...] = PLAYERS
) -> ResultsTree:
    """One board; each player plays three scenes, and each text is a turn of the first."""
    tree = ResultsTree(root)
    for n, player in enumerate(players):
        tree.write_player("hostile", "en", _info(player, texts[n % len(texts)]))
        for character, situation in (("<b>c</b>", "../s"), ("CON", "index"), ("c", "s")):
            cell = Cell(
                suite="hostile",
                version="<i>1</i>",
                protocol="pingpong_v2",
                language="en",
                player=player,
                character=character,
                situation=situation,
            )
            _write_scene(tree, cell, texts, failed=character == "c")
    if {"A/b", "CON"} <= set(players):
        one, other = (
            [talk for talk in tree.conversations("hostile", "en", player) if talk.status == "complete"]
            for player in ("A/b", "CON")
        )
        for both in zip(one, other, strict=True):
            write_comparison(tree, comparison(both, JUDGES[1], 1.0, random.Random(0)))
    return tree


def _info(player: str, text: str) -> PlayerInfo:
    return PlayerInfo(
        player=player,
        provider=text,
        model=player,
        name=f"{player[:80]} {text[:200]}",
        family=text,
        weights="open",
        licence=text,
        sampling={"x": text},
        system_extra=text,
    )


def _call(role: str, text: str) -> Call:
    return Call.model_validate(
        {
            "role": role,
            "turn": 1,
            "provider": text,
            "model": text,
            "parameters": {"stop": text},
            "outcome": "ok",
            "finish_reason": text,
            "usage": Usage(prompt_tokens=1, completion_tokens=1),
            "cost": "0.001",
            "system_fingerprint": text,
            "served_model": text,
        }
    )


def _write_scene(tree: ResultsTree, cell: Cell, texts: tuple[str, ...], *, failed: bool) -> None:
    some = texts[len(cell.player) % len(texts)]
    messages: list[Message] = []
    for text in texts:
        messages += [Message(role="user", content=text), Message(role="assistant", content=text)]
    failure = Failure(role="player", turn=1, outcome="empty", reason=some, raw=some) if failed else None
    conversation = sealed(
        Conversation(
            **cell.plain(),
            scene=Scene(character_name=some, summary=some, card=some, situation_title=some, situation=some),
            fingerprint=some,
            status="failed" if failed else "complete",
            messages=tuple(messages[:2] if failed else messages),
            calls=tuple(_call(role, text) for text in texts[:3] for role in ("player", "interrogator")),
            repairs=(some,),
            failure=failure,
        )
    )
    tree.write_conversation(conversation)
    if failed:
        return
    for n, judge in enumerate(JUDGES):
        broken = n == 1 and cell.character == "CON"
        refused = cell.character != "CON"  # whose scores count, so that the players can be compared
        verdicts = tuple(
            _verdict(turn, text, refused and turn == 3) for turn, text in enumerate(texts, start=1)
        )
        tree.write_judgement(
            sealed(
                Judgement(
                    **cell.plain(),
                    judge=judge,
                    fingerprint=some,
                    conversation_sha256=messages_sha256(conversation.messages),
                    status="failed" if broken else "ok",
                    turns=() if broken else verdicts,
                    repairs=(some,),
                    raw=(some, some),
                    calls=(_call("judge", some),),
                    failure=Failure(role="judge", turn=2, outcome="parse_error", reason=some, raw=some)
                    if broken
                    else None,
                )
            )
        )


def _verdict(turn: int, text: str, refused: bool) -> TurnVerdict:
    scores = {"in_character": 1 + turn % 5, "entertaining": 3, "fluency": 5}
    return TurnVerdict(
        turn=turn,
        is_refusal=refused,
        refusal_reason=text,
        scores=scores,
        reasons=dict.fromkeys(scores, text),
    )
