"""Content filters as providers report them, of what was sent (``input``) or of the answer (``answer``)."""

from __future__ import annotations

from tests.chat.provider_errors import Sample, error, routed

AZURE = error(
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
DEEPSEEK = error("Content Exists Risk", "invalid_request_error")
QWEN = {"code": "DataInspectionFailed", "message": "Input data may contain inappropriate content."}
QWEN_ANSWER = error("Output data may contain inappropriate content.", "data_inspection_failed")
GLM = {
    "contentFilter": [{"level": 1, "role": "user"}],
    "error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"},
}
GLM_ANSWER = {**GLM, "contentFilter": [{"level": 1, "role": "assistant"}]}
OPENAI = error("Invalid prompt: we've limited access to this content for safety reasons.", "invalid_prompt")
USAGE_POLICY = error("Your prompt was flagged as potentially violating our usage policy.", "invalid_prompt")
OPENROUTER = {
    "error": {
        "code": 403,
        "message": 'Model requires moderation on Provider. Your input was flagged for "violence".',
        "metadata": {"reasons": ["violence"], "flagged_input": "...", "provider_name": "x"},
    }
}
VERTEX = error(
    "The prompt could not be submitted. It contains sensitive words that violate Google's Responsible"
    " AI practices."
)

FILTERS: dict[str, Sample] = {
    "openai prompt": (400, OPENAI, "input"),
    "openai usage policy": (400, USAGE_POLICY, "input"),
    "openai safety system": (
        400,
        error("Your request was rejected as a result of our safety system.", "content_policy_violation"),
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
    "deepseek by a router": (400, routed(DEEPSEEK), "input"),
    "dashscope": (400, QWEN, "input"),
    "dashscope answer": (400, QWEN_ANSWER, "answer"),
    "dashscope by a router": (
        502,
        routed("<400> InternalError.Algo.DataInspectionFailed: Input data may contain inappropriate content"),
        "input",
    ),
    "zhipu": (400, GLM, "input"),
    "zhipu answer": (400, GLM_ANSWER, "answer"),
    "zhipu by a router": (400, routed(GLM), "input"),
    "moonshot": (
        400,
        error("The request was rejected because it was considered high risk", kind="content_filter"),
        "input",
    ),
    "minimax": (400, {"base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}}, "input"),
    "minimax answer": (
        400,
        {"base_resp": {"status_code": 1027, "status_msg": "output new_sensitive"}},
        "answer",
    ),
    "volcengine": (400, error("The request failed.", "InputTextSensitiveContentDetected"), "input"),
    "volcengine answer": (400, error("Failed.", "OutputTextSensitiveContentDetected"), "answer"),
    "stepfun": (
        451,
        error("The content you provided or machine outputted is blocked.", "censorship_blocked"),
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
    "baidu": (400, error("输入内容包含敏感信息", "content_unsafe"), "input"),
    "cohere blocked": (
        400,
        {"message": "blocked output: please adjust your prompt and try again"},
        "answer",
    ),
    "together": (422, error("Input text contains NSFW content"), "input"),
    "a sentence": (400, error("Your prompt was deemed potentially harmful."), "input"),
    "prohibited words": (400, error("The text contains prohibited words"), "input"),
    "hunyuan": (
        400,
        {"Response": {"Error": {"Code": "OperationDenied.TextIllegalDetected", "Message": "x"}}},
        "input",
    ),
    "in Japanese": (400, error("不適切な内容が検出されました"), "input"),
    "reason of gemini": (
        400,
        {"error": True, "message": "Message is being blocked for reason: SAFETY"},
        "input",
    ),
    "candidate of gemini": (400, error("Candidate was blocked due to SAFETY"), "answer"),
    "laws in Chinese": (400, error("您的输入可能违反相关法律法规"), "input"),
    "in French": (400, error("Le contenu a été bloqué par le filtre de sécurité"), "input"),
    "policy that blocked": (
        400,
        {"message": "Request blocked by policy: hate", "code": "policy_blocked"},
        "input",
    ),
    "in Russian": (400, error("Запрос отклонён модерацией"), "input"),
    "filter in plain text": (400, "Your prompt violates our content policy.", "input"),
    "answer of volcengine": (
        400,
        error(
            "The request failed because the output text may contain sensitive information.",
            "OutputTextSensitiveContentDetected",
        ),
        "answer",
    ),
    "violation of volcengine": (
        400,
        error(
            "The input text may contain severe violation information.",
            "SensitiveContentDetected.SevereViolation",
        ),
        "input",
    ),
    "violation in a code alone": (400, error("x", "SensitiveContentDetected.Violence"), "input"),
    "output of volcengine": (
        400,
        error("The output text was not processed.", "OutputTextRiskDetection"),
        "answer",
    ),
    "check of xai": (
        403,
        {
            "code": "The caller does not have permission",
            "error": "Content violates usage guidelines. Failed check: X",
        },
        "input",
    ),
    "content of qianfan": (400, error("the content of message is sensitive", "content_violation"), "input"),
    "chat of ucloud": (400, error("Sensitive chat messages", "invalid_messages"), "input"),
    "checks of portkey": (446, error("The guardrail checks defined in the config failed."), "input"),
    "guardrail in a word": (446, {"statusCode": 446, "error": "guardrail"}, "input"),
    "policy of zhipu": (400, {"error": {"code": "1300", "message": "API 调用被策略阻止"}}, "input"),
    "injection": (400, error("Prompt injection detected"), "input"),
    "what a model produced": (400, error("What it produced was blocked by the safety filter"), "answer"),
}
"""By a name of each."""
