"""Messages of providers' errors with status 400, by what they mean."""

from __future__ import annotations

WORDINGS = {
    "too_long": """
The prompt is too long: 140000, model maximum context length: 131071
Prompt contains 40000 tokens, exceeding model's limit of 32768.
Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)
Input length 8500 exceeds maximum allowed token size 8192
The total number of tokens (9000) exceeds the model's limit (8192)
prompt too long; exceeded max context length by 200 tokens
the input length exceeds the context length
inputs tokens exceed max_model_len 8192
Requested tokens (9000) exceed context window of 8192
Error code: 400 - The prompt length (9001) exceeds the limit (8192)
输入内容长度超过模型上下文限制
Слишком длинный запрос: превышен лимит токенов
length of prompt_tokens (9001) must be less than max_sequence_length (8192).
your messages exceed the limit of 32768 tokens for this model
Conversation too long. Start a new one.
The total tokens requested, 9000, is larger than the context 8192
The input is too long for this model
Prompt is longer than the context window
Requested 9000 tokens, context limit 8192
This model's context length is exceeded by 10 tokens
context_length_exceeded
The message you submitted was too long, please reload the conversation and submit something shorter.
This request would exceed the maximum context of 200k tokens
Too many input tokens. Max input tokens: 128000, request input token count: 130000
Запрос превышает максимальную длину контекста
文本长度超出模型上下文长度
入力トークン数が上限を超えています
""",
    "input": """
This content is unavailable because it violates our content policy
Content Exists Risk
The request was blocked by guardrail gr-123: topic policy
Your message violates our acceptable use policy
Запрос содержит недопустимое содержание
Gemini could not generate a response: prompt blocked (PROHIBITED_CONTENT)
We can't help with that request as it may violate our policies.
Llama Guard flagged this input as unsafe (S1)
Toxic content detected
Presidio: Blocked entity detected: CREDIT_CARD by Guardrail
您的提问包含违规信息，请修改后重试
コンテンツポリシーに違反しています
Die Anfrage wurde vom Inhaltsfilter blockiert
Your request was rejected by our safety system. If you believe this is an error, contact us.
This request has been flagged for possible cybersecurity risk.
Limited access to this content for safety reasons.
This content may violate our usage policies
The message was not processed due to the ethical filter
Сообщение не прошло модерацию
Запрос содержит запрещённые темы
К сожалению, не могу ответить: сработал фильтр безопасности
이 요청은 안전 정책에 의해 차단되었습니다
유해한 콘텐츠가 감지되었습니다
Contenido bloqueado por políticas de seguridad
Ihre Anfrage verstößt gegen unsere Inhaltsrichtlinien.
内容审查未通过
抱歉,该问题涉及敏感话题
Message contains disallowed content
Profane language detected
Detected PII in prompt; request blocked by policy
Lakera: prompt injection detected
""",
    "answer": """
The model's response was blocked because it contained harmful content
Response blocked: recitation
Sorry, the response was filtered by the Responsible AI policy
The generated text has been blocked by our content filters.
The model output violates our policy.
Completion blocked by moderation
[GoogleGenerativeAI Error]: Candidate was blocked due to SAFETY
""",
    "rejected": """
Invalid max_tokens value, the valid range of max_tokens is [1, 8192]
max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4
max_tokens (100000) exceeds the maximum output tokens 8192
max_completion_tokens exceeds the model's maximum of 8192 tokens
Invalid value for 'frequency_penalty': must be between -2 and 2
temperature and top_p cannot both be specified for this model. Please use only one.
`thinking.budget_tokens` must be less than `max_tokens`
response_format.json_schema: unsupported keyword 'maxLength' in strict mode
messages: first message must use the "user" role
messages: text content blocks must be non-empty
messages: final assistant content cannot end with trailing whitespace
'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.
After the optional system message(s), user and assistant roles should be alternating.
Conversation roles must alternate user/assistant/user/assistant/...
guardrailIdentifier is not a valid identifier
Guardrail identifier or version is malformed
Invalid value for safety_settings: HARM_CATEGORY_X
content_filter must be a boolean
The parameter moderation is not allowed
stop: at most 4 sequences are allowed
stop sequences exceed the limit of 4
seed must be an integer
n must be 1
System role is not supported
system prompt is not allowed for this model
`user` must be at most 64 characters
too many stop sequences
json schema is too large
tools: too many tools
metadata value too long
reasoning_effort: input should be 'low', 'medium' or 'high'
top_logprobs must not exceed 20
The value of 'moderation' must be one of 'low' or 'auto'.
'safety_settings' is not supported by this model
Guardrail with id gr-x not found
Invalid JSON schema: property 'sensitive' is not allowed
response_format is not allowed with stream
messages.1.content.0: content type image_url is not allowed
Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.
This model does not support image content
Value error, top_p must be in (0, 1], got 0.0.
logit_bias must contain token ids less than vocab size
min_tokens must be less than or equal to max_tokens=10, got 20.
max_tokens must be greater than thinking.budget_tokens
The max_tokens is out of range [1, 8192]
Param Incorrect: max_tokens exceeds maximum value 8192
parameter.enable_thinking must be set to false for non-streaming calls
This model only support stream mode, please enable the stream parameter to access the model.
developer role not supported
Tool calls are not allowed
temperature: number must be less than or equal to 1
The content field is a required field.
content: cannot be blank
Invalid message content: must be a string
Policy 'x' not found in request
Assistant response prefill is incompatible with enable_thinking.
Cannot have 2 or more assistant messages at the end of the list.
Prefix mode is only available in beta
Reasoning is mandatory for this endpoint and cannot be disabled.
Logprobs are not enabled for this model
Invalid chat template: Conversation roles must alternate
frequency_penalty is not enabled for this model
Unsupported language
Penalty is not enabled
Value at 'messages.2.content' failed constraint: Member must have length greater than or equal to 1
Missing required parameter: 'messages'.
tool_choice is not supported
This model does not support response_format json_schema with logprobs
invalid temperature: only 1 is allowed for this model
invalid type: parameter messages[0].content is of type object but should be of type string.
registry.ollama.ai/library/x does not support chat
"x" does not support thinking
The validator flagged the parameter response_format as unknown
Request blocked by policy: this workspace may not use gpt-9
""",
    "user": """
您的企业认证未通过审核
根据法律法规，请先完成实名认证
This API key has been disabled for safety reasons
Invalid model name passed in model=gpt-9. Call `/v1/models` to view available models for your key.
No models loaded. Please load a model in the developer page or use the `lms load` command.
User has exhausted their daily free quota
Your organization must be verified to use the model `o3`.
Your account has insufficient funds
invalid request: model 'command-x' was removed on September 15, 2025
""",
    "transport": """
Error in the engine: CUDA error: device-side assert triggered
服务繁忙,请稍后重试
模型过载
The model is not ready for inference
Failed to process request: worker died
unexpected EOF
inference failed: worker timeout
The model has been unloaded or crashed.
Model unloaded.
""",
    "rate_limited": """
You have exhausted your requests per minute quota
Too many concurrent requests for this model
""",
}
"""One a line. ``input`` and ``answer``: a content filter that blocked it."""
