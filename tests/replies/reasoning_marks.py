"""Ways in which models mark reasoning in a text, as (before it, after it)."""

from __future__ import annotations

TAGS = (
    *("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad", "analysis"),
    *("rationale", "seed:think", "mm:think", "antml:thinking", "longcat_think", "antThinking"),
    *(
        "reasoning_content",
        "thinking_trace",
        "chain_of_thought",
        "thought_process",
        "inner_monologue",
        "THINK",
        "o3-thinking",
        "think:deep",
        "ponder",
        "思考",
        "размышление",
        "Thinking",
        *("hidden_cot", "silent_reasoning", "brainstorm", "gedanken", "réflexion", "pensamiento", "생각"),
    ),
)
MARKS = [(f"<{tag}>", f"</{tag}>") for tag in TAGS]
MARKS += [
    ('<think effort="high">', "</think>"),
    ("<think effort=high budget='3'>", "</think>"),
    ("< think >", "</ think >"),
    ("&lt;think&gt;", "&lt;/think&gt;"),
    ("&#60;think&#62;", "&#60;/think&#62;"),
    ("\\u003cthink\\u003e", "\\u003c/think\\u003e"),
    ("◁think▷", "◁/think▷"),
    ("\\<think\\>", "\\</think\\>"),
    ("[THINK]", "[/THINK]"),
    ("【think】", "【/think】"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
    ("<｜begin▁of▁thinking｜>", "<｜end▁of▁thinking｜>"),
    ("<|think|>", "<|/think|>"),
    ("<|think|>", "<|end|><|begin|>assistant<|content|>"),
    ("<|assistant_thinking|>", "<|/assistant_thinking|>"),
    ("<ctrl94>", "<ctrl95>"),
    ("<|im_start|>think\n", "<|im_end|>\n<|im_start|>answer\n"),
    ("【思考】", "【/思考】"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<unused94>thought\n", "<unused95>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|start|>assistant<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    ("<|channel|>analysis ", "<|channel|>final "),
    ("<channel>analysis</channel>", "<channel>final</channel>"),
    ("<|channel|>commentary to=f <|constrain|>json<|message|>", "<|call|><|channel|>final<|message|>"),
]
HEADED = [
    ("Thinking...\n", "\n...done thinking.\n"),
    ("Here is my thought process:\n", "\nHere is my response:\n"),
    ("**Thinking:**\n", "\n\n**Answer:**\n"),
    (
        '<details type="reasoning" done="true">\n<summary>Thought for 3 s</summary>\n> ',
        "\n</details>\n",
    ),
    ("<details>\n<summary>My thinking</summary>\n\n", "\n\n</details>\n\n"),
    ("```thinking\n", "\n```\n\n"),
    ("Here are my reasoning steps:\n", "\n[BEGIN FINAL RESPONSE]\n"),
    ("Here's my thought process: ", " Here's my response: "),
    ("commentaryWe need ", "assistantfinal"),
    ("analysisWe need ", "assistantfinal"),
]
"""Under headings, in prose; only at the start of a text."""
UNOPENED = [
    ("", "</think>"),
    ("", "[BEGIN FINAL RESPONSE]"),
    ("", "</thinking>"),
    ("", "[/THINK]"),
    ("Thinking Process:\n\n1. ", "</think>"),
]
"""The opening mark was in the prompt, or never came."""
NESTED = [
    ("<think>a <think>b</think> ", "</think>"),
    ("<think>I may use <think> tags. ", "</think>"),
    ("<think>", "</thinking>"),
    ("<think>a</think> ", "</think>"),
    ("```xml\n<thinking>", "</thinking>\n```\n"),
    ("```\n<think>\n", "</think>```\n\n"),
]
ALL = [*MARKS, *HEADED, *UNOPENED, *NESTED]

PROSE = [
    "I was thinking. <sighs> Thinking: hm.\nWell",
    "<thinking hard> Hm <smiles>",
    "<thinks to himself> hm",
    "<thinking> Hm, let me see. <smiles> I would.",
    "[thinking] so what",
    'He wrote "<think>" on it',
    "Use `<think>` and `</think>`, lad.",
    "In these pages, <think> is no tag, and neither is </think>, lad.",
    "It emits marks (<think>, </think>) before it speaks.",
    "He typed <think>; then he slept.",
    "He typed </think>, and slept.",
    'Write "<think>hm</think>" on the door.',
    "Try this:\n```\n<think>hm</think>\n```\nDone.",
    "What is <think>?",
    "What does <think> mean to you?",
    "He wrote </think> on the wall.",
    "Analysis: the ash is Trichinopoly.\nAnswer: he was tall",
    "*thinking* no",
    "a < b > c",
    "Thinking Process: I just guess.",
    "analysis is my trade",
    "<details><summary>The map</summary>Here be dragons.</details> Well?",
    "```\nthinking\n``` is what the engine prints.",
    "<i>Reasoning</i> is what I do. &lt;3",
]
"""Answers of characters that only look like reasoning."""
