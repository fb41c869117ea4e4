"""The text added to a judge's prompt if its suite asks for flaws, the same for every template."""

from __future__ import annotations

from typing import Final

from bench.records import FlawName

MEANINGS: Final[dict[FlawName, str]] = {
    "breaks_character": "does or says what this character would not",
    "contradicts_card": "says something that the card rules out",
    "contradicts_talk": "says something that the earlier conversation rules out",
    "speaks_for_user": "writes the user's words, acts, thoughts or feelings",
    "repeats": "says again what an earlier answer, the sample or the greeting said",
    "cliche": "uses a stock phrase or a worn image",
    "meta_talk": "talks about being a bot, a game, prompts or rules",
    "wrong_language": "uses words of another language that the card does not explain",
}
"""What an answer does that has the flaw."""

_LINES = "\n".join(f"- {name}: {meaning}" for name, meaning in MEANINGS.items())
REQUEST: Final = f"""

One thing more. Each entry of "scores" also has a list "flaws", an empty list if the answer has no flaw.
Each flaw has one of these names, and a quotation that shows it. The answer ...
{_LINES}
A quotation is two to fifteen words, copied letter by letter from the bot's answer in that turn, with nothing
left out. List a flaw only if you can quote it, and each name at most once an answer. An entry then ends so:
"flaws": [{{"flaw": "repeats", "quote": "..."}}]
The JSON object:"""
