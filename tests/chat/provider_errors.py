"""Errors as providers send them, with what each one means: status, body, and kind of fault."""

from __future__ import annotations

import json
from typing import Any

Sample = tuple[int, Any, str]
"""Status, decoded body, expected kind. ``input`` and ``answer``: a content filter that blocked it."""


def error(message: str, code: object = None, kind: str = "invalid_request_error", **more: Any) -> Any:
    return {"error": {"message": message, "type": kind, "param": None, "code": code, **more}}


def routed(raw: Any, status: int = 400) -> Any:
    """An error as OpenRouter passes it on."""
    text = raw if isinstance(raw, str) else json.dumps(raw)
    metadata = {"raw": text, "provider_name": "Someone"}
    return {"error": {"message": "Provider returned error", "code": status, "metadata": metadata}}


ERRORS: dict[str, Sample] = {
    "openai context": (
        400,
        error("This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
        "too_long",
    ),
    "openai responses": (400, error("Your input exceeds the context window of this model."), "too_long"),
    "openai string": (
        400,
        error("Invalid 'messages[0].content': string too long.", "string_above_max_length"),
        "too_long",
    ),
    "openai limit per minute": (
        429,
        error("Request too large for gpt-4o on tokens per min (TPM): Limit 30000", "rate_limit_exceeded"),
        "too_long",
    ),
    "groq": (413, error("Request too large for model", "rate_limit_exceeded"), "too_long"),
    "groq length": (400, error("Please reduce the length of the messages or completion."), "too_long"),
    "anthropic prompt": (400, error("prompt is too long: 213462 tokens > 200000 maximum"), "too_long"),
    "anthropic sum": (
        400,
        error("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease it"),
        "too_long",
    ),
    "anthropic size": (413, error("Request exceeds the maximum size", kind="request_too_large"), "too_long"),
    "gemini tokens": (
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (9) exceeds the maximum number of tokens",
                }
            }
        ],
        "too_long",
    ),
    "gemini size": (400, error("Request payload size exceeds the limit: 20971520 bytes."), "too_long"),
    "messages": (400, error("messages exceed the max length limit"), "too_long"),
    "bedrock length": (
        400,
        {"__type": "ValidationException", "message": "Input is too long for requested model."},
        "too_long",
    ),
    "mistral": (
        400,
        error(
            "Prompt contains 9 tokens and 0 draft tokens, too large for model with 8 maximum context length"
        ),
        "too_long",
    ),
    "vllm": (
        400,
        {
            "object": "error",
            "message": "The decoder prompt (length 40960) is longer than the maximum model length",
            "type": "BadRequestError",
            "code": 400,
        },
        "too_long",
    ),
    "sglang": (
        400,
        error("The input (23063 tokens) is longer than the model's context length (8192 tokens)."),
        "too_long",
    ),
    "llama.cpp": (
        400,
        error("the request exceeds the available context size", 400, "exceed_context_size_error"),
        "too_long",
    ),
    "llama.cpp 500": (500, error("Context size has been exceeded.", 500, "server_error"), "too_long"),
    "tgi": (
        422,
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 9",
            "error_type": "validation",
        },
        "too_long",
    ),
    "cohere": (400, {"message": "too many tokens: the prompt cannot exceed 4081"}, "too_long"),
    "dashscope length": (400, error("Range of input length should be [1, 98304]"), "too_long"),
    "zhipu length": (400, {"error": {"code": "1261", "message": "Prompt 超长"}}, "too_long"),
    "moonshot length": (400, error("Your request exceeded model token limit: 8192"), "too_long"),
    "minimax length": (400, error("invalid params, context window exceeds limit (2013)"), "too_long"),
    "xai": (
        400,
        {"code": "Client error", "error": "This model's maximum prompt length is 131072 but it has 537812"},
        "too_long",
    ),
    "openrouter length": (
        400,
        error("This endpoint's maximum context length is 9 tokens. However, you requested about 10 tokens"),
        "too_long",
    ),
    "length by a router": (400, routed(error("prompt is too long: 9 tokens > 8 maximum")), "too_long"),
    "safety parameter": (
        400,
        error("Unknown parameter: 'safety_settings'.", "unknown_parameter"),
        "rejected",
    ),
    "filter parameter": (400, error("Unrecognized request argument: moderation"), "rejected"),
    "max_tokens too large": (
        400,
        error("max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens"),
        "rejected",
    ),
    "max_tokens of vllm": (
        400,
        error("'max_tokens' is too large: 9000. This model's maximum context length is 4096 tokens"),
        "rejected",
    ),
    "max_tokens of dashscope": (400, error("Range of max_tokens should be [1, 8192]"), "rejected"),
    "prohibited parameter": (400, error("Setting top_k is prohibited for this model"), "rejected"),
    "malformed input": (400, error("Illegal input: messages must not be empty"), "rejected"),
    "content block": (400, error("messages.0.content: unexpected content block type"), "rejected"),
    "temperature": (400, error("temperature must be <= 1"), "rejected"),
    "suspended account": (403, error("Your account was flagged and is suspended"), "user"),
    "no credit": (400, error("Your credit balance is too low to access the Anthropic API."), "user"),
    "no key with 400": (400, error("API key not valid. Please pass a valid API key."), "user"),
    "no key": (401, error("Content policy: invalid key", "invalid_api_key"), "user"),
    "firewall": (403, "<html><h1>Sorry, you have been blocked</h1>by a security filter</html>", "user"),
    "limit per minute": (
        429,
        error("Rate limit reached on tokens per min (TPM): Limit 9, Used 9. Exceeded tokens", "tokens"),
        "rate_limited",
    ),
    "length of dashscope": (
        400,
        error("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"),
        "too_long",
    ),
    "max_tokens and input of vllm": (
        400,
        error(
            "'max_tokens' is too large: 4000. This model's maximum context length is 4096 tokens and your"
            " request has 3000 input tokens (4000 > 4096 - 3000)."
        ),
        "too_long",
    ),
    "context of litellm": (400, error("litellm.ContextWindowExceededError: BadRequestError"), "too_long"),
    "budget of litellm": (400, error("Budget has been exceeded! Current cost: 1.0", "400"), "user"),
    "no key of xai": (400, {"code": "Client error", "error": "Incorrect API key provided: xa***."}, "user"),
    "no model of deepseek": (400, error("Model Not Exist"), "user"),
    "no model of openrouter": (400, error("someone/some-model is not a valid model ID", 400), "user"),
    "model without a tool": (400, error("This model does not support tools."), "rejected"),
    "unusable answer of groq": (
        400,
        error("Failed to generate JSON. Please adjust your prompt.", "json_validate_failed"),
        "transport",
    ),
    "quota of google": (
        429,
        [
            {
                "error": {
                    "code": 429,
                    "status": "RESOURCE_EXHAUSTED",
                    "message": "You exceeded your current quota, please check your plan and billing details.",
                    "details": [{"@type": "google.rpc.RetryInfo", "retryDelay": "32.5s"}],
                }
            }
        ],
        "rate_limited",
    ),
    "quota of openai": (
        429,
        error("You exceeded your current quota, please check your plan.", "insufficient_quota"),
        "user",
    ),
    "filter that did not run": (400, error("Internal error.", "ContentSecurityDetectionError"), "transport"),
    "tokens of yandex": (
        400,
        error("number of input tokens must be no more than 7400, got 9000"),
        "too_long",
    ),
    "tokens of google": (
        400,
        error("the input token count is 9 but the model only supports up to 8"),
        "too_long",
    ),
    "nothing left for the answer": (400, error("max_tokens must be at least 1, got -200."), "too_long"),
    "limit of the answer": (400, error("max_tokens cannot exceed 8192"), "rejected"),
    "limit of stop tokens": (400, error("The number of stop tokens must be less than 5"), "rejected"),
    "budget of thinking": (400, error("The thinking_budget tokens must be less than 8192"), "rejected"),
    "story that did not parse": (
        500,
        error("Failed to parse input at pos 9: violence! 'The API key is invalid', said the moderator."),
        "transport",
    ),
    "story in a validation": (
        400,
        error("[{'loc': ('body',), 'msg': 'Field required', 'input': {'content': 'hate speech, too long'}}]"),
        "rejected",
    ),
    "story in a value": (
        400,
        error("not valid [type=int, input_value={'content': 'hate speech'}, input_type=dict]"),
        "rejected",
    ),
    "extra input": (400, error("messages.1.content: Extra inputs are not permitted"), "rejected"),
    "empty content": (400, error("messages[0].content is not allowed to be empty"), "rejected"),
    "content type": (422, error("content type not allowed: text/plain"), "rejected"),
    "policy of roles": (400, error("The messages violate the alternating role policy"), "rejected"),
    "usage limit": (400, error("You have reached your specified API usage limits."), "user"),
    "spending limit": (429, {"code": "exhausted", "error": "The team used all available credits."}, "user"),
    "overdue account": (412, error("x", "OperationDenied.ServiceOverdue"), "user"),
    "disabled organization": (400, error("This organization has been disabled."), "user"),
    "another country": (400, error("User location is not supported for the API use."), "user"),
    "expired key": (400, error("API key expired. Please renew the API key."), "user"),
    "retired model": (400, error("The model `x` has been decommissioned."), "user"),
    "no model of bedrock": (400, error("The provided model identifier is invalid."), "user"),
    "no model of zhipu": (400, {"error": {"code": "1211", "message": "模型不存在"}}, "user"),
    "tokens of bedrock": (
        400,
        {"message": "ThrottlingException: Too many tokens, please wait before trying again."},
        "rate_limited",
    ),
    "tokens of bedrock by a gateway": (
        500,
        {"detail": "ThrottlingException: Too many tokens, please wait before trying again."},
        "transport",
    ),
    "tokens per minute": (
        400,
        error("This request exceeds the limit of 9 tokens per minute"),
        "rate_limited",
    ),
    "deadline with 400": (400, error("context deadline exceeded"), "transport"),
    "length of poolside": (
        400,
        error("Input length 131393 exceeds the maximum allowed input length of 131040 tokens."),
        "too_long",
    ),
    "length in a code as text": (400, {"error": "prompt_too_long"}, "too_long"),
    "tokens of github": (400, error("x", "tokens_limit_reached"), "too_long"),
    "tokens in Chinese": (400, error("tokens 数量超出上限"), "too_long"),
    "an expired token in Chinese": (403, error("token 已过期,超出期限"), "user"),
    "an account in German": (403, error("Ihr Konto wurde gesperrt: Verstoß gegen die Richtlinien"), "user"),
    "an account in French": (403, error("Compte bloqué pour raison de sécurité"), "user"),
    "an account in Spanish": (403, error("Cuenta bloqueada por seguridad"), "user"),
    "flagged address": (403, error("Your IP has been flagged"), "user"),
    "length in German": (400, error("Nachricht zu lang: 9000 Tokens überschreiten das Limit"), "too_long"),
    "length in French": (400, error("La requête dépasse la longueur maximale du contexte"), "too_long"),
    "length in Spanish": (400, error("El mensaje supera la longitud máxima de contexto"), "too_long"),
    "length in Korean": (400, error("입력 토큰 수가 최대 길이를 초과했습니다"), "too_long"),
    "deprecated parameter": (400, error("`temperature` is deprecated for this model."), "rejected"),
    "wrong address": (400, {"error": "Unexpected endpoint or method. (POST /chat/completions)"}, "user"),
    "frequency": (400, error("请求限频，请稍后重试。", "2003"), "rate_limited"),
    "rate limit of google": (403, error("Rate Limit Exceeded", 403, "rateLimitExceeded"), "rate_limited"),
    "full queue": (400, error("The request queue is full.", 503, "BadRequestError"), "transport"),
    "crashed model": (400, {"error": "The model has crashed without additional information."}, "transport"),
    "engine": (400, error("EngineCore encountered an issue.", 400, "BadRequestError"), "transport"),
    "code of a server's error": (400, error("x", 502), "transport"),
    "failed dependency": (424, {"message": "Received server error (500) from model"}, "transport"),
    "proxy gave up": (499, error("client closed request"), "transport"),
    "deadline": (504, error("context deadline exceeded", 504, "server_error"), "transport"),
    "overloaded": (529, error("Overloaded", kind="overloaded_error"), "transport"),
}
"""By a name of each; those of content filters are in ``provider_filters.py``."""
