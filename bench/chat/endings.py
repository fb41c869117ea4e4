"""How a call ended: the one declared table from what a provider sends to the outcome in the record.

``FINISH_REASONS`` and ``STEMS`` sort the words that providers use for the end of an answer. ``RULES`` gives
the outcome of a whole body. The reader of replies, the tests and the site's page on faults use these tables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from bench.chat.secrets import REDACTED

Ending = Literal["complete", "length", "filtered", "broken", "unknown"]
"""What a finish reason says. Only ``complete`` makes an answer whole: ``unknown`` may have been cut off."""
ErrorKind = Literal["content_filter", "too_long", "rate_limited", "transport", "rejected", "user"]
"""What an error object says. ``too_long``: the input is larger than the model or the provider accepts."""
Side = Literal["input", "answer"]
"""What a content filter blocked."""
Written = Literal["text", "refusal", "text_and_refusal", "reasoning", "nothing", "no_choice", "foreign"]
"""What the model wrote; ``no_choice``: the body holds no message. ``foreign``: it holds one in the format of
another API."""
AnswerOutcome = Literal["ok", "empty", "length", "content_filter", "refused", "unknown_ending"]
"""Outcomes of bodies that are kept; the others are faults of the call."""
Verdict = Literal[AnswerOutcome, "rejected", "rate_limited", "transport", "stops the run"]

FINISH_REASONS: dict[Ending, str] = {
    "complete": """
        stop end_turn end_of_turn stop_sequence stop_sequences stop_string stop_string_found stop_word
        stop_words stop_token stop_token_id eos eos_token eos_token_id eos_found end_of_text endoftext
        end_of_sequence end_of_message end_id im_end eot eot_id end finish finished complete completed
        normal final success succeeded word natural done tool_calls tool_call tool_use function_call
        function_calls stop_sequence_reached stop_reached eos_reached
        stopped stop_str s stop_hit natural_stop end_of_sequence_token eos_token_found stopped_eos
        stopped_word finished_stopped completion ended
    """,
    "length": """
        length max_tokens max_length max_output max_output_tokens max_completion_tokens max_new_tokens
        max_len maximum_tokens model_length model_context_window_exceeded context_length
        context_length_exceeded context_length_reached context_window_exceeded max_context
        max_context_length max_predicted_tokens_reached token_limit token_limit_reached limit error_limit
        truncated truncated_final output_limit length_limit num_predict max_generation_tokens
        tokens_exhausted token_budget_exhausted stopped_limit length_capped finished_length_capped size_limit
    """,
    "filtered": """
        content_filter content_filtered contentfilter sensitive refusal refused safety recitation language
        prohibited_content blocklist blacklist spii guardrail guardrail_intervened model_armor error_toxic
        flagged moderation censored image_safety jailbreak nsfw copyright risk_control
        escalation hate denied block
    """,
    "broken": """
        error errored failed failure abort aborted cancel cancelled canceled user_cancel user_stopped
        timeout timed_out time_limit network_error server_error internal_error insufficient_system_resource
        model_unloaded load unload interrupted disconnected partial not_finished in_progress queued
        malformed_response malformed_function_call malformed_model_output malformed_tool_use
        oom gpu_oom unexpected_tool_call too_many_tool_calls missing_thought_signature overloaded unavailable
    """,
}
"""Known finish reasons, in lower case with underscores (see :func:`word`)."""

STEMS: dict[Ending, str] = {
    "filtered": """
        filter safety sensitive prohibit blocked blocklist moderat guardrail polic refus toxic recitation
        unsafe harm censor violat inspection legal inappropriate offensive profan sexual violence
        hate_speech nsfw disallow forbidden risk compliance banned suppress redact withheld interven
        security privacy pii injection 敏感 违规 审核 安全 过滤 拒绝
    """,
    "broken": """
        error fail abort rate_limit timeout timed_out time_out deadline cancel interrupt unavailable overload
        insufficient exhausted malformed disconnect connection network gateway crash killed preempt evict
        exception out_of_memory shutdown quota terminated halted stalled dropped dead died retry time_limit
        capacity busy kill expired no_response incomplete_stream lost
        incomplete_read unexpected_eof try_again internal closed 错误 失败 异常 超时 中断
    """,
    "length": """
        max_token maxtoken max_completion length max_context max_seq context_window context_limit num_ctx
        token_limit limit_reached too_long truncat max_output maximum_ cut_off cutoff out_of_token
        out_of_context too_many_token token_budget context_full context_overflow context_exceed window_exceed
    """,
}
"""Parts of words that decide where the whole word is not known; ``filtered`` is tried first."""

_WORST: tuple[Ending, ...] = ("filtered", "broken", "length", "unknown", "complete")
_WORDS: dict[str, Ending] = {w: ending for ending, words in FINISH_REASONS.items() for w in words.split()}
_PREFIXES = re.compile(r"^(finish_reason|stop_reason|alternative_status|reason)_")
_NO_WORD = re.compile(r"[^\w.]+")


def word(text: str) -> str:
    """``text`` in lower case with underscores, without an enumeration's name: ``FinishReason.maxTokens`` is
    ``max_tokens``."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text.strip())
    snake = _NO_WORD.sub("_", snake).strip("_.").lower().rpartition(".")[2]
    return _PREFIXES.sub("", snake)


@lru_cache(maxsize=1024)
def ending_of(finish: str | None) -> Ending:
    """What a finish reason says. Of several words, as in ``content_filter: SPII``, the worst one counts."""
    if not finish or not finish.strip():
        return "unknown"
    finish = finish.replace(REDACTED, "?")  # our own mark is no word of the provider's
    whole = _WORDS.get(word(finish))
    if whole is not None:
        return whole
    parts = [_ending_of_word(word(part)) for part in re.split(r"[:;,/|()\[\]]", finish) if word(part)]
    return min(parts, key=_WORST.index, default="unknown")


def _ending_of_word(name: str) -> Ending:
    known = _WORDS.get(name)
    if known is not None:
        return known
    return next((e for e, stems in STEMS.items() if any(stem in name for stem in stems.split())), "unknown")


def worse(ending: Ending, native: str | None) -> Ending:
    """``ending``, or what the ``native`` finish reason behind a router says if that is worse. A native reason
    that is not known says nothing, because the router knew how to translate it."""
    behind = ending_of(native)
    if behind == "unknown":
        return ending
    if ending == "unknown":
        return behind
    return min(ending, behind, key=_WORST.index)


@dataclass(frozen=True, slots=True)
class Facts:
    """What decides the outcome of one body."""

    error: ErrorKind | None
    filtered: Side | None
    """What a filter blocked, where the body marks it outside the finish reason."""
    ending: Ending
    written: Written


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table: if all its conditions hold, the call has this outcome. None: any."""

    when: str
    outcome: Verdict
    error: ErrorKind | None = None
    filtered: tuple[Side, ...] | None = None
    endings: tuple[Ending, ...] | None = None
    written: tuple[Written, ...] | None = None

    def holds(self, facts: Facts) -> bool:
        """Whether all conditions hold."""
        return (
            (self.error is None or self.error == facts.error)
            and (self.filtered is None or facts.filtered in self.filtered)
            and (self.endings is None or facts.ending in self.endings)
            and (self.written is None or facts.written in self.written)
        )


RULES: tuple[Rule, ...] = (
    Rule("an error that names a content filter", "content_filter", error="content_filter"),
    Rule("an error about the size of the input", "rejected", error="too_long"),
    Rule("an error about a rate limit", "rate_limited", error="rate_limited"),
    Rule("an error about the key, the model or the address", "stops the run", error="user"),
    Rule("an error that rejects the request", "rejected", error="rejected"),
    Rule("any other error", "transport", error="transport"),
    Rule("filter results that say *blocked*", "content_filter", filtered=("input", "answer")),
    Rule("a filtered ending", "content_filter", endings=("filtered",)),
    Rule("a broken ending", "transport", endings=("broken",)),
    Rule("a message in the format of another API", "stops the run", written=("foreign",)),
    Rule("no message", "transport", written=("no_choice",)),
    Rule("a refusal in its own field instead of text", "refused", written=("refusal",)),
    Rule(
        "a refusal in its own field beside text that was not cut off",
        "refused",
        endings=("complete", "unknown"),
        written=("text_and_refusal",),
    ),
    Rule("no text, or nothing but reasoning", "empty", written=("nothing", "reasoning")),
    Rule("text cut off at the token limit", "length", endings=("length",)),
    Rule("text with an unknown ending, or with none", "unknown_ending", endings=("unknown",)),
    Rule("text with a complete ending", "ok"),
)
"""The outcome of a body, whatever else it holds; the first rule that holds decides."""


@lru_cache(maxsize=1024)
def rule_for(facts: Facts) -> Rule:
    """The rule that decides the outcome of a body with these ``facts``."""
    return next(rule for rule in RULES if rule.holds(facts))


def kept_outcome(rule: Rule) -> AnswerOutcome:
    """The outcome of a body that holds no fault of the call."""
    match rule.outcome:
        case "rejected" | "rate_limited" | "transport" | "stops the run":
            raise AssertionError(f"an answer cannot end as {rule.outcome}")
        case outcome:
            return outcome
