"""The codes and phrases by which providers say that a filter or the size of the input stopped a request.

The patterns match phrases, not single words: "unknown parameter safety_settings" is not a filter.
"""

from __future__ import annotations

import re
from typing import Literal

from bench.chat.endings import word
from bench.replies.later import Later

FILTER_CODES = Later(
    r"content_?filter(?!_error)|content_?(polic|management|moderation|safety|violat)"
    r"|moderation_|(prompt|input|output)_filter|prompt_shield"
    r"|responsible_?ai|data_?inspection|invalid_prompt|flagged|safety(?!_settings|_identifier)|sensitive"
    r"|risk_?(control|detect)|policy_violation|prohibited|guardrail|censor|unsafe|blocklist|jailbreak"
    r"|recitation|infringement"
    r"|(content|prompt|input|output|request|response|message|answer|completion|policy)_blocked|usage_policy"
    r"|moderation\b|illegal_(detect|content|text)|content_?risk|csam|\b(1301|1026|1027|10013|10014|10019)\b"
    # The numbers: Zhipu; MiniMax, input and answer; iFlytek, input, answer and either.
)
FILTER_WORDS = Later(
    r"content exists risk|high risk\b|inappropriate (content|input|output)|content management polic"
    r"|(content|usage|safety|acceptable use|moderation)[ _-]?polic(y|ies)[ _-]?(violation|reject|block)"
    r"|violat\w{0,20}\b[^.]{0,40}\b(polic|guideline|terms of)|against [^.]{0,30}(polic|guideline)"
    r"|flagged (as|for|by|because|due)"
    r"|flagged (this|the|your) (prompt|content|input|request|message|text|output|response|answer)\b"
    r"|(was|been|is|got) flagged"
    r"|(block|filter|reject|refus|stopp|intercept|censor|deni|declin)\w{0,20}\b[^.]{0,40}"
    r"\b(safety|filter(s|ing)?|moderation|(content|usage) polic\w{1,20}|guardrails?|sensitive|risk control"
    r"|content security|recitation)\b"
    r"|(safety|filter|filtering|moderation|guardrail\w{0,20})\b[^.]{0,40}\b(block|reject|refus|trigger"
    r"|interven|flag)|\bguardrail( checks?\b[^.]{0,40}\bfailed|\Z)"
    r"|(safety|moderation) check\b[^.]{0,20}\bfail|content that is not (allowed|permitted)"
    r"|(trigger|fail)\w{0,20}\b[^.]{0,30}\b(content filter|safety|moderation|guardrail"
    r"|content polic|inspection)"
    r"|responsible ?ai\b|responsibleaipolicyviolation|data_?inspection_?failed"
    r"|content_policy_violation|sensitive (word|content|information|topic|material)|new_sensitive"
    r"|\b(unsafe|harmful|offensive|objectionable|sensitive|nsfw|toxic|inappropriate|risky|non-?compliant)[ -]"
    r"(\w{1,20} ){0,2}(content|text|words?|terms?|language|information|material|topics?|data|prompt|input"
    r"|output|messages?)\b|\bviolation information\b"
    r"|\b(content|text|prompt|input|output|answer|message)\b[^.]{0,20}\bis (sensitive|illegal|prohibited)\b"
    r"|(hit|violat|trigger)\w{0,20} [^.]{0,20}\bsecurity polic"
    r"|\b(prohibited|illegal|forbidden|disallowed|restricted|banned|explicit|sexual|risky?) (content"
    r"|words?|terms|topics?"
    r"|material)\b|\b(may be|is|was|were|deemed|considered|found|detected|classified|identified"
    r"|marked|judged|potentially|possibly)( as| to be)?"
    r"( potentially)? (unsafe|harmful|toxic|nsfw|inappropriate|offensive|high.risk)\b|jail ?break"
    r"|content polic(y|ies)\b|content (restriction|guideline)|moderation failed|hate speech|self.harm"
    r"|\bprofan|\bspii\b|\binfringement\b|ethic\w{0,20} filter|(?<!not )for safety reasons"
    r"|blocked by (your |our |the |a )?polic"
    r"(?![^.]{0,40}\b(ip|models?|key|workspace|organi[sz]ation|project)\b)"
    r"|\bobscen|\bviolen(t|ce)\b|content\b[^.]{0,40}\bnot (allowed|permitted)\b"
    r"|blocked (input|output|prompt|response|content)\b|(input|output|prompt|response|content) blocked"
    r"|\b(\w{1,20}_)?unsafe_|prompt[ _]injection|\bcsam\b|policy violation detected"
    r"|block(ed)?[ _](for )?reason|finish[ _]reason\W{1,4}(safety|content_?filter)"
    r"|(prompt|input|output|response|completion|answer|text|message)\b[^.]{0,20}"
    r"\b(is|was|been|got) (blocked|filtered|censored|moderated)"
    r"|not (pass|comply)\w{0,20}\b[^.]{0,40}(review|moderation|inspection|safety|polic)"
    r"|content\b[^.]{0,30}\b(is|was|been) (blocked|filtered|censored|prohibited)|prohibited_content"
    r"|敏感|不安全|违规|违法|违禁|法律法规|违反[^。]{0,6}法律|涉嫌|审[核查](不|未|失败)|未(能)?通过[^。]{0,6}审[核查]|内容安全|安全策略|风控|不合规|不当内容"
    r"|屏蔽|策略阻止|拦截|過濾|过滤|不當|審査|不適切|有害|禁止されている内容|ポリシー(に)?違反|安全上の理由"
    r"|부적절|유해|(콘텐츠|안전) (필터|정책)"
    r"|недопустим\w{0,20} (содерж|контент)|не прош\w{1,20} модерац|фильтр\w{0,20} (безопасн|контент)"
    r"|нарушает (правила|политику)|запрещ[её]нн\w{0,20} (содерж|контент|тем)"
    r"|(заблокирован|отклон[её]н)\w{0,20}[^.]{0,30}(фильтр|модерац|цензор|безопасност)|contenu inapproprié"
    r"|pol[ií]tica de conten|contenido (inapropiado|prohibido)|inhaltsfilter|inhaltsrichtlinie"
    r"|(bloqué|bloquead|blockiert|gesperrt)\w{0,20}[^.]{0,30}(filtr|filter|sécurité|seguridad|richtlinie|polít|politi)"
    r"|filtre de (sécurité|contenu)|filtro de (contenido|conteúdo|seguridad)"
)
_FORM_WORDS = Later(
    r"extra inputs?\b|\bschema\b|\b(empty|null|blank|parameters?|modality|alternating|stream(ing)?)\b"
    r"|content[ -]types?\b|media type"
)
_SURE_WORDS = Later(r"filter|moderat|guardrail|safety|sensitive|flagged|inappropriate|harmful")
"""About the form of the request, unless a sure word says that it is about a filter."""
_OUTAGE = Later(
    r"(filter(ing)?|moderat(ion|or)|guardrails?|safety|inspection)( \w{1,20}){0,3} unavailable"
    r"|time(d |-)?out|overloaded|connection (error|reset|refused)|did not run"
    r"|(fail\w{0,20}|unable|error) (to )?(run|call|reach|connect|load)"
)
"""About a filter: it did not run."""
ACCESS_WORDS = Later(
    r"\b(no|insufficient) permissions?\b|(access|permission)[ _]denied|\bnot authorized\b|accessdenied|无权",
    re.IGNORECASE,
)
ACCOUNT_WORDS = Later(
    r"\b(account|organi[sz]ation|api key|project|workspace|user id|ip( address)?)\b[^.]{0,40}"
    r"\b(flagged|suspend|block|bann|disabl|deactivat|restrict|terminat|locked|must be verified)"
    r"|账[号户]已被锁定|实名|认证未|资质未"
    r"|\b(konto|compte|cuenta|conta)\b[^.]{0,40}\b(gesperrt|blockiert|deaktiviert|suspend|bloqu|d[eé]sa[ct])"
    r"|\b(location|country|region)\b[^.]{0,40}\bnot supported",
    re.IGNORECASE,
)
"""About the user's account or place, not about this request."""
LENGTH_CODES = Later(
    r"context_(length|window|limit|size|overflow)|(string|array)_above_max|string_too_long|(request|input|payload"
    r"|content|prompt)_too_l"
    r"|exceed_context|tokens?_too_long|max_(context|prompt|input)|entity_too_large|tokens?_limit_(exceed|reach)|\b(1261|1039|10907)\b"
    # the numbers: Zhipu, MiniMax, iFlytek
)
LENGTH_WORDS = Later(
    r"maximum (context|prompt|input|sequence|model) length|context (length|window|size|limit|overflow)"
    r"|max(imum)?[ _](context|model|seq\w{0,20}|prompt|input|position)\w{0,20}[ _]?(len|size|token|limit)"
    r"|(prompt|input|inputs|request|messages?|text|content|query|conversation|payload|body|string|history)\b"
    r"[^.]{0,30}\btoo (long|large|big)\b|too many (input |prompt |total )?tokens"
    r"|reduce (the length|your prompt|your input)"
    r"|(prompt|input|context|request|messages?)_too_(long|large)|context_(length|window)_exceed"
    r"|(token|character)s?\b[^.]{0,40}\bexceed|exceed\w{0,20}\b[^.]{0,60}\b(tokens?|context|characters|input"
    r"|prompt)\b"
    r"|(input|prompt|messages|text)\b[^.]{0,20}\bexceeds?\b|tokens\b[^.]{0,20}\blarger than"
    r"|(longer|larger) than the (model|maximum|context)|input length|contextwindowexceeded"
    r"|max(imum)? (input )?length of (the )?(current |all )?(question|input|prompt|message)"
    r"|payload size exceeds|(request|entity) (entity )?too large"
    r"|(?<!output )(?<!completion )(?<!stop )(?<!stop_)(?<!thinking )tokens\b[^.]{0,20}"
    r"\b(must|should|can) (be )?"
    r"(no more|not be more|at most|less|fewer|under|<)"
    r"|tokens?\b[^.]{0,30}\bonly supports\b|tokens, but the\b[^.]{0,30}\bcontext"
    r"|max_tokens must be at least 1, got -"  # what the input leaves of the context
    r"|must have less than \d+ tokens|`inputs` tokens|tokens\b[^.]{0,40}\btoo large|max input characters"
    r"|слишком (длинн|больш)|превыша\w{0,20}[^.]{0,30}(длин|лимит|контекст|максимал)|長すぎ|上限を超え"
    r"|\bzu lang\b|überschreit\w{0,20}[^.]{0,30}(limit|länge|kontext)|(길이|토큰|컨텍스트)[^.]{0,20}초과"
    r"|너무 (길|깁)"
    r"|(dépasse|excède|supera|excede|ultrapassa)\w{0,20}[^.]{0,20}(longueur|longitud|comprimento|contexte?o?\b)"
    r"|超长|过长|太长|长度[^。]{0,12}(超|限制|上限)|超[出过][^。]{0,12}(长度|上下文|token|限制)"
    r"|token(?![^。]{0,12}(期|时|時|余额|令牌|失效))[^。]{0,12}(超|上限)"
)
PARAMETER_WORDS = Later(
    r"(?<!\+ `)\b((max|min)_(completion_|new_|output_)?tokens|thinking_budget|budget_tokens)\b"
    r"['\"`]?( \w+)? ?[:=]?"
    r"[^.]{0,25}(too large|at most|(must|should) be (less|at|<|between|greater)|> \d+, which|maximum allowed"
    r"|supports at most|out of range|cannot exceed|exceeds? (the )?(model('s)? )?(max|limit)"
    r"|(larger|greater|higher|more) than)|maximum tokens (you requested|value)"
)
"""About the parameter that limits the answer: a mistake in the catalogue."""
_INPUT_TOKENS = Later(r"input tokens|at least 1, got -")
RATE_WORDS = Later(r"per[ -](minute|day|hour|second)|\b[tr]p[md]\b|rate limit|quota|throttl|please wait")
CREDIT_WORDS = Later(
    r"insufficient[ _](user_)?(quota|balance|credit|funds)|billing|credit balance|overdue|past invoices"
    r"|\b(used|no|any) (all )?(available |remaining |more )?credits\b|credits? (is |are |were )?exhausted"
    r"|(spend|spending|usage|inference|credit|cost) (limit|cap)s?\b(?! for server)"
    r"|balance (is )?(too low|insufficient)|budget[_ ](has been )?exceeded|arrears|arrearage|余额不足|欠费"
    r"|exhausted (?![^.]{0,40}\b(minute|second|hour|rpm|tpm)\b)[^.]{0,20}\bquota"
    r"|请充值|额度不足|额度失败|key limit exceeded|(daily|weekly|monthly) budget|资源包|套餐已到期|使用上限",
    re.IGNORECASE,
)
KEY_WORDS = Later(
    r"api[ _-]?key (is |has )?(not valid|invalid|expired)"
    r"|(invalid|incorrect|expired|unknown|missing|no)[ _-]?api[ _-]?key"
    r"|(access|api) token (is )?(invalid|expired)|身份验证失败",
    re.IGNORECASE,
)
MODEL_WORDS = Later(
    r"\bmodel\b(?:[^.]|\.(?=\S)){0,80}\b(not exist|not found|is unknown)"
    r"|(unknown|invalid|no such) model\b(?! (parameter|input))|no models? (is |are )?loaded"
    r"|not a valid model|模型不存在"
    r"|requested model\b.{0,60}not supported|model_not_(supported|available)"
    r"|\bmodel identifier is invalid|\bunable to access (\S+ )?model\b|model ID \S+ with on-demand throughput"
    r"|\bmodel\b[\s\w\"'`/.:-]{0,60}\b(is|was|has been) "
    r"(deprecated|decommissioned|retired|removed|discontinued|no longer)",
    re.IGNORECASE,
)
"""About the model's id, with a status that says nothing."""
ADDRESS_WORDS = Later(
    r"unexpected endpoint or method|\binvalid url\b|^cannot post /|^not found\.?$",
    re.IGNORECASE | re.MULTILINE,
)
THROTTLE_WORDS = Later(
    r"rate.?limit|too many (concurrent )?requests|throttl|please wait before"
    r"|(tokens?|requests?) per (minute|second|hour|day)|\bqps\b|limit ?exceeded\b"
    r"|\brequest limit (is |was )?reached"
    r"|限流|限频|频率(过|超)|并发数?(过|超)",
    re.IGNORECASE,
)
BROKEN_WORDS = Later(
    r"model (was |is |has )?(been |currently )?(unloaded|crashed|loading|not loaded|not ready)|queue is full"
    r"|\bengine ?(core|dead|error)"
    r"|\b(is|are|was|currently|server|model) (overloaded|at capacity|busy)|capacity (temporarily )?exceeded"
    r"|(temporarily|service|server) unavailable|\binternal (server )?error\b"
    r"|(try|retry) again (later|shortly)"
    r"|timed out|worker timeout|(request|generation) was aborted"
    r"|deadline exceeded|out of memory|cuda error|upstream (connect|error|request)"
    r"|connection (error|reset|refused)|unexpected eof|broken pipe|worker (has )?(died|crashed)"
    r"|繁忙|过载|稍[后後候]再?[重试試]|попробуйте (ещё раз |снова )?позже|временно недоступ",
    re.IGNORECASE,
)
"""The provider's own trouble, which some report as a mistake in the request."""
ECHO = Later(
    r"(?is)(failed to parse input at pos \d+|last read):.*|['\"]input['\"]\s*:.*"
    r"|\binput_value=.*?(?=, input_type|\Z)"
)
"""What follows is the text of the conversation, whose words say nothing about the error."""
UNUSABLE_CODES = Later(r"json_validate_failed|tool_use_failed|output_parse_failed")
"""The provider could not use what the model wrote. Another sample may do."""
ANSWER_WORDS = Later(
    r"\b(output|response|completion|answer|candidate|generat\w{0,20}|reply|produced)\b|输出|生成|\b(1027|10014)\b"
)
BLOCKED_ANSWER = Later(r"\bblocked (output|response|completion|answer)\b")
INPUT_WORDS = Later(r"\b(input|prompt|your|request|query|question)\b|输入|提示|\b1026\b")

NOT_ABOUT_CONTENT = frozenset({401, 402, 404, 405, 407, 408, 409, 415, 425, 431})
"""Statuses that are about something else than the content, whatever their text says."""


def content_kind(status: int, codes: str, said: str) -> Literal["content_filter", "too_long"] | None:
    """Whether an error is about the content of the request: a filter, or its size. None: neither.

    Args:
        status: The HTTP status, or the one that the error names.
        codes: Its codes and types.
        said: Its messages.
    """
    names, text = _names(codes), said.lower()
    if status in NOT_ABOUT_CONTENT:
        return None
    if status == 429:
        return "too_long" if "request too large for" in text else None
    if status == 451 or FILTER_CODES.search(names):
        return "content_filter"
    form = _FORM_WORDS.search(text) and not _SURE_WORDS.search(text)
    if FILTER_WORDS.search(text) and not form and not ACCOUNT_WORDS.search(text) and not _OUTAGE.search(text):
        return "content_filter"
    if status == 413 or LENGTH_CODES.search(names):
        return "too_long"
    if LENGTH_WORDS.search(text) and not (PARAMETER_WORDS.search(text) and not _INPUT_TOKENS.search(text)):
        return None if RATE_WORDS.search(text) and "too large" not in text else "too_long"
    return None


def is_about_answer(codes: str, said: str) -> bool:
    """Whether a filter's error says that it blocked the answer; if it does not say, it blocked the input."""
    if BLOCKED_ANSWER.search(said.lower()):
        return True
    names = re.sub(r"(invalid|bad)_request\w*", "", _names(codes)).replace("_", " ")
    texts = [names, f"{names} {said.lower()}"]  # a sentence may be about "the request", a code is not
    return any(ANSWER_WORDS.search(text) and not INPUT_WORDS.search(text) for text in texts)


def _names(codes: str) -> str:
    """All parts of ``codes``, such as the two of ``ContentDetected.SevereViolation``, as words."""
    return " ".join(map(word, re.split(r"[\s.]+", codes)))
