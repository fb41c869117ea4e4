"""Errors as providers send them, with what each one means: status, body, and kind of fault."""

from __future__ import annotations

import json
from typing import Any

Sample = tuple[int, Any, str]
"""Status, decoded body, expected kind. ``input`` and ``answer``: a content filter that blocked it."""


def _error(message: str, code: object = None, kind: str = "invalid_request_error", **more: Any) -> Any:
    return {"error": {"message": message, "type": kind, "param": None, "code": code, **more}}


def _routed(raw: Any, status: int = 400) -> Any:
    """An error as OpenRouter passes it on."""
    text = raw if isinstance(raw, str) else json.dumps(raw)
    metadata = {"raw": text, "provider_name": "Someone"}
    return {"error": {"message": "Provider returned error", "code": status, "metadata": metadata}}


AZURE = _error(
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    "content_filter",
    innererror={
        "code": "ResponsibleAIPolicyViolation",
        "content_filter_result": {"hate": {"filtered": True, "severity": "high"}},
    },
)
AZURE_ANSWER = {
    "choices": [
        {
            "message": {"role": "assistant", "content": ""},
            "finish_reason": "content_filter",
            "content_filter_results": {"error": {"code": "content_filter", "message": "Response blocked"}},
        }
    ],
    "usage": {"prompt_tokens": 55, "total_tokens": 55},
}
DEEPSEEK = _error("Content Exists Risk", "invalid_request_error")
QWEN = {"code": "DataInspectionFailed", "message": "Input data may contain inappropriate content."}
QWEN_ANSWER = _error("Output data may contain inappropriate content.", "data_inspection_failed")
GLM = {
    "contentFilter": [{"level": 1, "role": "user"}],
    "error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"},
}
GLM_ANSWER = {**GLM, "contentFilter": [{"level": 1, "role": "assistant"}]}
OPENAI = _error("Invalid prompt: we've limited access to this content for safety reasons.", "invalid_prompt")
USAGE_POLICY = _error("Your prompt was flagged as potentially violating our usage policy.", "invalid_prompt")
OPENROUTER = {
    "error": {
        "code": 403,
        "message": 'Model requires moderation on Provider. Your input was flagged for "violence".',
        "metadata": {"reasons": ["violence"], "flagged_input": "...", "provider_name": "x"},
    }
}
VERTEX = _error(
    "The prompt could not be submitted. It contains sensitive words that violate Google's Responsible"
    " AI practices."
)

ERRORS: dict[str, Sample] = {
    "openai prompt": (400, OPENAI, "input"),
    "openai usage policy": (400, USAGE_POLICY, "input"),
    "openai safety system": (
        400,
        _error("Your request was rejected as a result of our safety system.", "content_policy_violation"),
        "input",
    ),
    "azure": (400, AZURE, "input"),
    "azure answer": (400, AZURE_ANSWER, "answer"),
    "anthropic answer": (
        400,
        {"type": "error", "error": {"type": "x", "message": "Output blocked by content filtering policy"}},
        "answer",
    ),
    "deepseek": (400, DEEPSEEK, "input"),
    "deepseek detail": (400, {"detail": "Content Exists Risk"}, "input"),
    "deepseek by a router": (400, _routed(DEEPSEEK), "input"),
    "dashscope": (400, QWEN, "input"),
    "dashscope answer": (400, QWEN_ANSWER, "answer"),
    "dashscope by a router": (
        502,
        _routed(
            "<400> InternalError.Algo.DataInspectionFailed: Input data may contain inappropriate content"
        ),
        "input",
    ),
    "zhipu": (400, GLM, "input"),
    "zhipu answer": (400, GLM_ANSWER, "answer"),
    "zhipu by a router": (400, _routed(GLM), "input"),
    "moonshot": (
        400,
        _error("The request was rejected because it was considered high risk", kind="content_filter"),
        "input",
    ),
    "minimax": (400, {"base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}}, "input"),
    "minimax answer": (
        400,
        {"base_resp": {"status_code": 1027, "status_msg": "output new_sensitive"}},
        "answer",
    ),
    "volcengine": (400, _error("The request failed.", "InputTextSensitiveContentDetected"), "input"),
    "volcengine answer": (400, _error("Failed.", "OutputTextSensitiveContentDetected"), "answer"),
    "stepfun": (
        451,
        _error("The content you provided or machine outputted is blocked.", "censorship_blocked"),
        "input",
    ),
    "openrouter moderation": (403, OPENROUTER, "input"),
    "openrouter raw object": (
        400,
        {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": AZURE}}},
        "input",
    ),
    "vertex": (400, VERTEX, "input"),
    "gemini feedback": (400, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, "input"),
    "bedrock": (400, {"message": "This request has been blocked by our content filters."}, "input"),
    "xai check": (403, {"code": "x", "error": "Content violates usage guidelines."}, "input"),
    "baidu": (400, _error("输入内容包含敏感信息", "content_unsafe"), "input"),
    "cohere blocked": (
        400,
        {"message": "blocked output: please adjust your prompt and try again"},
        "answer",
    ),
    "together": (422, _error("Input text contains NSFW content"), "input"),
    "a sentence": (400, _error("Your prompt was deemed potentially harmful."), "input"),
    "prohibited words": (400, _error("The text contains prohibited words"), "input"),
    "hunyuan": (
        400,
        {"Response": {"Error": {"Code": "OperationDenied.TextIllegalDetected", "Message": "x"}}},
        "input",
    ),
    "in Japanese": (400, _error("不適切な内容が検出されました"), "input"),
    "in Russian": (400, _error("Запрос отклонён модерацией"), "input"),
    "filter in plain text": (400, "Your prompt violates our content policy.", "input"),
    "openai context": (
        400,
        _error("This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
        "too_long",
    ),
    "openai responses": (400, _error("Your input exceeds the context window of this model."), "too_long"),
    "openai string": (
        400,
        _error("Invalid 'messages[0].content': string too long.", "string_above_max_length"),
        "too_long",
    ),
    "openai limit per minute": (
        429,
        _error("Request too large for gpt-4o on tokens per min (TPM): Limit 30000", "rate_limit_exceeded"),
        "too_long",
    ),
    "groq": (413, _error("Request too large for model", "rate_limit_exceeded"), "too_long"),
    "groq length": (400, _error("Please reduce the length of the messages or completion."), "too_long"),
    "anthropic prompt": (400, _error("prompt is too long: 213462 tokens > 200000 maximum"), "too_long"),
    "anthropic sum": (
        400,
        _error("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease it"),
        "too_long",
    ),
    "anthropic size": (413, _error("Request exceeds the maximum size", kind="request_too_large"), "too_long"),
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
    "gemini size": (400, _error("Request payload size exceeds the limit: 20971520 bytes."), "too_long"),
    "messages": (400, _error("messages exceed the max length limit"), "too_long"),
    "bedrock length": (
        400,
        {"__type": "ValidationException", "message": "Input is too long for requested model."},
        "too_long",
    ),
    "mistral": (
        400,
        _error(
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
        _error("The input (23063 tokens) is longer than the model's context length (8192 tokens)."),
        "too_long",
    ),
    "llama.cpp": (
        400,
        _error("the request exceeds the available context size", 400, "exceed_context_size_error"),
        "too_long",
    ),
    "llama.cpp 500": (500, _error("Context size has been exceeded.", 500, "server_error"), "too_long"),
    "tgi": (
        422,
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 9",
            "error_type": "validation",
        },
        "too_long",
    ),
    "cohere": (400, {"message": "too many tokens: the prompt cannot exceed 4081"}, "too_long"),
    "dashscope length": (400, _error("Range of input length should be [1, 98304]"), "too_long"),
    "zhipu length": (400, {"error": {"code": "1261", "message": "Prompt 超长"}}, "too_long"),
    "moonshot length": (400, _error("Your request exceeded model token limit: 8192"), "too_long"),
    "minimax length": (400, _error("invalid params, context window exceeds limit (2013)"), "too_long"),
    "xai": (
        400,
        {"code": "Client error", "error": "This model's maximum prompt length is 131072 but it has 537812"},
        "too_long",
    ),
    "openrouter length": (
        400,
        _error("This endpoint's maximum context length is 9 tokens. However, you requested about 10 tokens"),
        "too_long",
    ),
    "length by a router": (400, _routed(_error("prompt is too long: 9 tokens > 8 maximum")), "too_long"),
    "safety parameter": (
        400,
        _error("Unknown parameter: 'safety_settings'.", "unknown_parameter"),
        "rejected",
    ),
    "filter parameter": (400, _error("Unrecognized request argument: moderation"), "rejected"),
    "max_tokens too large": (
        400,
        _error("max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens"),
        "rejected",
    ),
    "max_tokens of vllm": (
        400,
        _error("'max_tokens' is too large: 9000. This model's maximum context length is 4096 tokens"),
        "rejected",
    ),
    "max_tokens of dashscope": (400, _error("Range of max_tokens should be [1, 8192]"), "rejected"),
    "prohibited parameter": (400, _error("Setting top_k is prohibited for this model"), "rejected"),
    "malformed input": (400, _error("Illegal input: messages must not be empty"), "rejected"),
    "content block": (400, _error("messages.0.content: unexpected content block type"), "rejected"),
    "temperature": (400, _error("temperature must be <= 1"), "rejected"),
    "suspended account": (403, _error("Your account was flagged and is suspended"), "user"),
    "no credit": (400, _error("Your credit balance is too low to access the Anthropic API."), "user"),
    "no key with 400": (400, _error("API key not valid. Please pass a valid API key."), "user"),
    "no key": (401, _error("Content policy: invalid key", "invalid_api_key"), "user"),
    "firewall": (403, "<html><h1>Sorry, you have been blocked</h1>by a security filter</html>", "user"),
    "limit per minute": (
        429,
        _error("Rate limit reached on tokens per min (TPM): Limit 9, Used 9. Exceeded tokens", "tokens"),
        "rate_limited",
    ),
    "length of dashscope": (
        400,
        _error("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"),
        "too_long",
    ),
    "max_tokens and input of vllm": (
        400,
        _error(
            "'max_tokens' is too large: 4000. This model's maximum context length is 4096 tokens and your"
            " request has 3000 input tokens (4000 > 4096 - 3000)."
        ),
        "too_long",
    ),
    "context of litellm": (400, _error("litellm.ContextWindowExceededError: BadRequestError"), "too_long"),
    "answer of volcengine": (
        400,
        _error(
            "The request failed because the output text may contain sensitive information.",
            "OutputTextSensitiveContentDetected",
        ),
        "answer",
    ),
    "budget of litellm": (400, _error("Budget has been exceeded! Current cost: 1.0", "400"), "user"),
    "no key of xai": (400, {"code": "Client error", "error": "Incorrect API key provided: xa***."}, "user"),
    "no model of deepseek": (400, _error("Model Not Exist"), "user"),
    "no model of openrouter": (400, _error("someone/some-model is not a valid model ID", 400), "user"),
    "model without a tool": (400, _error("This model does not support tools."), "rejected"),
    "unusable answer of groq": (
        400,
        _error("Failed to generate JSON. Please adjust your prompt.", "json_validate_failed"),
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
        _error("You exceeded your current quota, please check your plan.", "insufficient_quota"),
        "user",
    ),
    "violation of volcengine": (
        400,
        _error(
            "The input text may contain severe violation information.",
            "SensitiveContentDetected.SevereViolation",
        ),
        "input",
    ),
    "violation in a code alone": (400, _error("x", "SensitiveContentDetected.Violence"), "input"),
    "output of volcengine": (
        400,
        _error("The output text was not processed.", "OutputTextRiskDetection"),
        "answer",
    ),
    "filter that did not run": (400, _error("Internal error.", "ContentSecurityDetectionError"), "transport"),
    "check of xai": (
        403,
        {
            "code": "The caller does not have permission",
            "error": "Content violates usage guidelines. Failed check: X",
        },
        "input",
    ),
    "content of qianfan": (400, _error("the content of message is sensitive", "content_violation"), "input"),
    "chat of ucloud": (400, _error("Sensitive chat messages", "invalid_messages"), "input"),
    "checks of portkey": (446, _error("The guardrail checks defined in the config failed."), "input"),
    "guardrail in a word": (446, {"statusCode": 446, "error": "guardrail"}, "input"),
    "policy of zhipu": (400, {"error": {"code": "1300", "message": "API 调用被策略阻止"}}, "input"),
    "injection": (400, _error("Prompt injection detected"), "input"),
    "tokens of yandex": (
        400,
        _error("number of input tokens must be no more than 7400, got 9000"),
        "too_long",
    ),
    "tokens of google": (
        400,
        _error("the input token count is 9 but the model only supports up to 8"),
        "too_long",
    ),
    "nothing left for the answer": (400, _error("max_tokens must be at least 1, got -200."), "too_long"),
    "limit of the answer": (400, _error("max_tokens cannot exceed 8192"), "rejected"),
    "limit of stop tokens": (400, _error("The number of stop tokens must be less than 5"), "rejected"),
    "budget of thinking": (400, _error("The thinking_budget tokens must be less than 8192"), "rejected"),
    "story that did not parse": (
        500,
        _error("Failed to parse input at pos 9: violence! 'The API key is invalid', said the moderator."),
        "transport",
    ),
    "story in a validation": (
        400,
        _error(
            "[{'loc': ('body',), 'msg': 'Field required', 'input': {'content': 'hate speech, too long'}}]"
        ),
        "rejected",
    ),
    "story in a value": (
        400,
        _error("not valid [type=int, input_value={'content': 'hate speech'}, input_type=dict]"),
        "rejected",
    ),
    "extra input": (400, _error("messages.1.content: Extra inputs are not permitted"), "rejected"),
    "empty content": (400, _error("messages[0].content is not allowed to be empty"), "rejected"),
    "content type": (422, _error("content type not allowed: text/plain"), "rejected"),
    "policy of roles": (400, _error("The messages violate the alternating role policy"), "rejected"),
    "what a model produced": (400, _error("What it produced was blocked by the safety filter"), "answer"),
    "usage limit": (400, _error("You have reached your specified API usage limits."), "user"),
    "spending limit": (429, {"code": "exhausted", "error": "The team used all available credits."}, "user"),
    "overdue account": (412, _error("x", "OperationDenied.ServiceOverdue"), "user"),
    "disabled organization": (400, _error("This organization has been disabled."), "user"),
    "another country": (400, _error("User location is not supported for the API use."), "user"),
    "expired key": (400, _error("API key expired. Please renew the API key."), "user"),
    "retired model": (400, _error("The model `x` has been decommissioned."), "user"),
    "no model of bedrock": (400, _error("The provided model identifier is invalid."), "user"),
    "no model of zhipu": (400, {"error": {"code": "1211", "message": "模型不存在"}}, "user"),
    "deprecated parameter": (400, _error("`temperature` is deprecated for this model."), "rejected"),
    "wrong address": (400, {"error": "Unexpected endpoint or method. (POST /chat/completions)"}, "user"),
    "frequency": (400, _error("请求限频，请稍后重试。", "2003"), "rate_limited"),
    "rate limit of google": (403, _error("Rate Limit Exceeded", 403, "rateLimitExceeded"), "rate_limited"),
    "full queue": (400, _error("The request queue is full.", 503, "BadRequestError"), "transport"),
    "crashed model": (400, {"error": "The model has crashed without additional information."}, "transport"),
    "engine": (400, _error("EngineCore encountered an issue.", 400, "BadRequestError"), "transport"),
    "code of a server's error": (400, _error("x", 502), "transport"),
    "failed dependency": (424, {"message": "Received server error (500) from model"}, "transport"),
    "proxy gave up": (499, _error("client closed request"), "transport"),
    "deadline": (504, _error("context deadline exceeded", 504, "server_error"), "transport"),
    "overloaded": (529, _error("Overloaded", kind="overloaded_error"), "transport"),
}
"""By a name of each."""
