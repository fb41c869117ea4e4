"""Every combination of finish reason, text, error, filter and role comes to what the declared table says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest

from bench.chat import Chat, RetryPolicy
from bench.chat.answers import FINISH_KEYS, answer_from, as_read_now
from bench.chat.answers import Answer as Read
from bench.chat.endings import (
    FINISH_REASONS,
    RULES,
    Ending,
    ErrorKind,
    Facts,
    Side,
    Written,
    ending_of,
    rule_for,
)
from bench.errors import ProviderError
from bench.protocols import Protocol
from bench.protocols.calls import ASKS, Try, failure_of
from bench.records import Cell, Failure, Message, Role, Usage
from bench.replies import ReplyFault
from bench.scores.rules import ended_by_player
from tests.faults.reply_table import ENDS, LOWEST, ROLES
from tests.scripted_server import Answer, ScriptedServer, Seen, plausible_text
from tests.tiny import make_tiny

pytestmark = pytest.mark.block_network(allowed_hosts=["127\\.0\\.0\\.1"])

FINISHES: dict[str | None, Ending] = {
    "stop": "complete",
    "MAX_TOKENS": "length",
    "content_filter: SPII": "filtered",
    "network_error": "broken",
    "banana": "unknown",
    None: "unknown",
}
ERRORS: dict[ErrorKind, Any] = {
    "content_filter": {"code": 400, "message": "Content Exists Risk"},
    "too_long": {"code": 400, "message": "prompt is too long: 9 tokens > 8 maximum"},
    "rate_limited": {"code": 429, "message": "slow down"},
    "transport": {"code": 502, "message": "upstream died"},
    "rejected": {"code": 400, "message": "no such parameter"},
    "user": {"code": 401, "message": "bad key"},
}
NO_CHOICE: tuple[Written, ...] = ("no_choice", "foreign")
BLOCKED = {"hate": {"filtered": True, "severity": "high"}, "violence": {"filtered": False}}
MODELS: dict[Role, str] = {"player": "bard", "interrogator": "asker", "judge": "strict"}
PROMPTS: dict[Role, str] = {
    "player": "Hello?",
    "interrogator": '{"next_utterance": ""}',
    "judge": 'Turn 1:\nuser: a\n{"scores": []}',
}
QUICK = RetryPolicy(attempts=2, first_wait=0.001, longest_backoff=0.001)


@dataclass(frozen=True)
class Case:
    """One reply: how its body ends, and what it holds."""

    finish: str | None
    written: Written
    error: ErrorKind | None
    filtered: Side | None

    @property
    def facts(self) -> Facts:
        ending = "unknown" if self.written in NO_CHOICE else FINISHES[self.finish]
        return Facts(self.error, self.filtered, ending, self.written)

    @property
    def blocked_input(self) -> bool:
        """Whether a filter blocked what the model was sent, by what a reader of the body would say."""
        if self.filtered is not None:
            return self.filtered == "input"
        return self.written in ("nothing", *NO_CHOICE)  # and no tokens are counted

    def body(self, text: str) -> dict[str, Any]:
        """The body, in which ``text`` is the sound reply of the role."""
        message = {
            "role": "assistant",
            "content": text if "text" in self.written else None,
            "refusal": "I will not." if "refusal" in self.written else None,
            "reasoning_content": "Let me think." if self.written == "reasoning" else None,
        }
        choice: dict[str, Any] = {"index": 0, "finish_reason": self.finish, "message": message}
        body: dict[str, Any] = {"choices": [] if self.written in NO_CHOICE else [choice]}
        if self.written == "foreign":
            body |= {"message": {"role": "assistant", "content": text}, "done": True}
        written = 0 if self.blocked_input else 5
        body["usage"] = {"prompt_tokens": 10, "completion_tokens": written, "total_tokens": 10 + written}
        if self.filtered == "input":
            body["prompt_filter_results"] = [{"prompt_index": 0, "content_filter_results": BLOCKED}]
        elif self.filtered == "answer":
            (body if self.written in NO_CHOICE else choice)["content_filter_results"] = BLOCKED
        if self.error is not None:
            body["error"] = ERRORS[self.error]
        return body


ALL = [
    Case(*values)
    for values in product(FINISHES, get_args(Written), (None, *ERRORS), (None, "input", "answer"))
]
PLAYED = [
    case
    for case in ALL
    if (case.error is None or (case.filtered is None and case.written in ("text", "no_choice")))
    and case.finish != "banana"
]
"""Those that are played to every role, over the wire: any two facts beside each other."""


def test_there_are_enough_combinations() -> None:
    assert len(ALL) > 700
    assert len(PLAYED) * len(ROLES) >= 400


@pytest.mark.parametrize("written", get_args(Written))
def test_a_body_is_read_as_the_table_says(written: Written) -> None:
    for case in (case for case in ALL if case.written == written):
        read = answer_from(json.dumps(case.body("Boo.")).encode(), (Message(role="user", content="?"),), ())
        rule = rule_for(case.facts)
        if isinstance(read, Read):
            assert read.outcome == rule.outcome, case
            blocked = read.outcome == "content_filter" and case.blocked_input
            assert read.filtered == ("input" if blocked else None), case
        else:
            kind = "user" if rule.outcome == "stops the run" else rule.outcome
            assert read.kind == (rule.error or kind), case


class _Player:
    """Answers request after request with the body that the request's last message names by a number."""

    def __call__(self, seen: Seen) -> Answer:
        messages = seen.body["messages"]
        number = int(messages[0]["content"])
        return Answer(PLAYED[number].body(plausible_text(seen)))


async def _tries(
    protocol: Protocol, cell: Cell, chat: Chat, number: int, role: Role
) -> list[Try[str]] | None:
    """The calls of ``role``; None if the run stopped."""

    def read(text: str) -> str:
        if role != "player":
            try:
                json.loads(text)
            except ValueError:
                raise ReplyFault("no_json", "no JSON") from None
        return text

    messages = [Message(role="system", content=str(number)), Message(role="user", content=PROMPTS[role])]
    try:
        return await protocol.ask_until_read(
            role, MODELS[role], cell, messages, read, chat.ask, seed=(number,)
        )
    except ProviderError:
        return None


def test_a_reply_comes_to_the_same_in_every_role(tmp_path: Path) -> None:
    async def main() -> list[tuple[Case, Role, list[Try[str]] | None]]:
        async with ScriptedServer(_Player(), record=False) as server:
            tiny = make_tiny(tmp_path, server.url)
            protocol, cell = tiny.protocol(), tiny.cell()
            keys = list(product(range(len(PLAYED)), ROLES))
            async with Chat(
                tiny.catalog(), retry=QUICK, environ={}, dotenv=tmp_path / ".env", proven=MODELS.values()
            ) as chat:
                made = await asyncio.gather(*(_tries(protocol, cell, chat, n, role) for n, role in keys))
            return [(PLAYED[n], role, tries) for (n, role), tries in zip(keys, made, strict=True)]

    for case, role, tries in asyncio.run(main()):
        end = ENDS[rule_for(case.facts).outcome]
        assert (tries is None) == (end is None), (case, role)
        if tries is None or end is None:
            continue
        failure = failure_of(role, 1, tries[-1])
        assert (failure and failure.outcome) == end.lasting, (case, role)
        assert len(tries) == (ASKS if end.once == "re-asked" else 1), (case, role)
        assert tries[0].reply.attempts == (QUICK.attempts if end.once == "retried" else 1), (case, role)
        finish = None if case.written in NO_CHOICE else case.finish
        assert tries[-1].reply.finish_reason == (finish or None), (case, role)
        if failure is not None:
            assert failure.reason
            blocked = failure.outcome == "content_filter" and case.blocked_input
            assert failure.filtered == ("input" if blocked else None), (case, role)


def test_every_rule_decides_something() -> None:
    assert {rule_for(case.facts) for case in ALL} == set(RULES)


def _spellings(word: str) -> Iterator[str]:
    camel = "".join(part.capitalize() for part in word.split("_"))
    yield from (word, word.upper(), word.replace("_", "-"), f" {word} ", f"FinishReason.{word.upper()}")
    yield from (f"FINISH_REASON_{word.upper()}", camel, camel[:1].lower() + camel[1:])


@pytest.mark.parametrize("ending", FINISH_REASONS)
def test_a_finish_reason_means_the_same_in_every_spelling(ending: Ending) -> None:
    for word in FINISH_REASONS[ending].split():
        assert {ending_of(spelling) for spelling in _spellings(word)} == {ending}, word


@pytest.mark.parametrize(
    ("finish", "ending"),
    [
        ("content_filter: PROHIBITED_CONTENT", "filtered"),
        ("stop: SAFETY", "filtered"),
        ("error, max_tokens", "broken"),
        ("output_moderation_triggered", "filtered"),
        ("upstream_connection_failure", "broken"),
        ("max_tokens_per_request", "length"),
        ("quota_exceeded", "broken"),
        ("DEADLINE_EXCEEDED", "broken"),
        ("upstream-network-issue", "broken"),
        ("ResourceExhausted", "broken"),
        ("sexual_content", "filtered"),
        ("context_limit_hit", "length"),
        ("stop: odd", "unknown"),
        ("TIME_LIMIT_EXCEEDED", "broken"),
        ("server_busy", "broken"),
        ("out_of_tokens", "length"),
        ("cut-off", "length"),
        ("tokens_exhausted", "length"),
        ("banned_words", "filtered"),
        ("内容违规", "filtered"),
        ("网络错误", "broken"),
        ("超时", "broken"),
        ("拒绝回答", "filtered"),
        ("IncompleteRead", "broken"),
        ("TRY_AGAIN_LATER", "broken"),
        ("pause_turn", "unknown"),
        ("unstoppable", "unknown"),
        ("finish_length", "length"),
        ("MaxTokensReached", "length"),
        ("limit_reached", "length"),
        ("stream_closed", "broken"),
        ("INTERNAL", "broken"),
        ("prompt_injection", "filtered"),
        ("OTHER", "unknown"),
        ("FINISH_REASON_UNSPECIFIED", "unknown"),
        ("", "unknown"),
        (" ", "unknown"),
        ("停止", "unknown"),
    ],
)
def test_words_beyond_the_list_are_never_complete(finish: str, ending: Ending) -> None:
    assert ending_of(finish) == ending


@pytest.mark.parametrize(
    ("finish", "native", "outcome"),
    [
        ("stop", "STOP", "ok"),
        ("stop", "eos-17", "ok"),
        ("stop", "SAFETY", "content_filter"),
        ("stop", "max_tokens", "length"),
        ("error", "PROHIBITED_CONTENT", "content_filter"),
        ("stop", "network_error", "transport"),
        (None, "end_turn", "ok"),
        (None, None, "unknown_ending"),
    ],
)
def test_the_finish_reason_behind_a_router_counts_if_it_is_worse(
    finish: str | None, native: str | None, outcome: str
) -> None:
    for name in FINISH_KEYS[1:]:
        behind: dict[str, Any] = {name: native}
        inside: dict[str, Any] = {"provider_specific_fields": behind}
        for body, choice, message in (
            ({}, behind, {}),
            ({}, inside, {}),
            ({}, {}, behind),
            ({}, {}, inside),
            (behind, {}, {}),
        ):
            choice = {"finish_reason": finish, **choice, "message": {"content": "Boo.", **message}}
            text = json.dumps({**body, "choices": [choice]})
            read = answer_from(text.encode(), (Message(role="user", content="?"),), ())
            assert (read.outcome if isinstance(read, Read) else read.kind) == outcome


@pytest.mark.parametrize("finish", FINISHES)
def test_a_stream_is_read_like_a_whole_body(finish: str | None) -> None:
    for case in (case for case in ALL if case.finish == finish and case.written == "text"):
        body = case.body("Boo.")
        choice = body["choices"][0]
        choice["delta"] = choice.pop("message")
        last = {"choices": [], "usage": body["usage"]}
        text = "".join(f"data: {json.dumps(part)}\n\n" for part in (body, last)) + "data: [DONE]\n\n"
        read = answer_from(text.encode(), (Message(role="user", content="?"),), ())
        outcome, rule = read.outcome if isinstance(read, Read) else read.kind, rule_for(case.facts)
        cut_off = finish is None and case.error is None and case.filtered is None
        assert outcome == ("transport" if cut_off else rule.error or rule.outcome), case


def test_an_answer_from_the_cache_is_read_by_todays_rules() -> None:
    for finish, ending in FINISHES.items():
        kept = Read(
            outcome="ok", text="Boo.", finish_reason=finish, usage=Usage(prompt_tokens=1, completion_tokens=1)
        )
        due = rule_for(Facts(None, None, ending, "text")).outcome
        read = as_read_now(kept)
        assert (read.outcome if read else "transport") == due
        assert read is None or read.text == "Boo."


def test_the_lowest_scores_of_the_page_are_those_of_the_scoring() -> None:
    for rule in RULES:
        end = ENDS[rule.outcome]
        if end is None or end.lasting is None:
            continue
        failure = Failure(role="player", turn=1, outcome=end.lasting, reason="x")
        assert ended_by_player(failure) == (rule.outcome in LOWEST)
        assert not ended_by_player(failure.model_copy(update={"role": "interrogator"}))
    blocked = Failure(role="player", turn=1, outcome="content_filter", filtered="input", reason="x")
    assert not ended_by_player(blocked)
    assert not ended_by_player(Failure(role="player", turn=1, outcome="refused", reason="HTTP 400: too long"))
