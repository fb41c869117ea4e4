"""A judge that takes back what its JSON says is asked again; one that explains or sums up is not."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from bench.protocols.calls import read_whole
from bench.records import Criterion
from bench.replies import ReplyFault, banded, rating, verdict
from bench.replies.margins import margins
from bench.replies.revisions import takes_back

Criteria = tuple[Criterion, ...]
Make = Callable[..., Any]

CHANGED = """
Actually, I would change the score to 2.
Wait, I made a mistake: turn 1 is a 2.
Correction: fluency for turn 2 is 3, not 4.
On second thought, I'd lower the score of the second turn by one point.
Scratch that. The bot broke character in turn 1.
Fluency: 2
In character: 1/5
**Fluency:** 2
Please disregard the scores above; turn 2 was a refusal.
Edit: fluency_score for turn 1 should have been five.
Let me correct that. Turn 2, fluency → 2
Revised score for turn 1: two.
Sorry, I meant 2 for fluency.
My final verdict is 2 for everything.
Hold on. Looking at it again, turn 2 is closer to a 3.
is_refusal for turn 2 should be true.
Actually turn 2 is a refusal.
fluency_score is 2
fluency_score: two
fluency: 4 -> 2
turn 2: in_character_score: 3
Ignore the previous JSON.
Upon further review, the second answer deserves a lower score.
I'd make that a 2.
Please use 2 instead of 4 for fluency.
Replace the fluency score of turn 1 with 2.
The fluency score in the JSON is wrong; it is 2.
In hindsight, a 2 would be more appropriate for fluency.
Actually, make it 3 for fluency.
Self-correction: turn 1 should have been flagged as a refusal.
My scores above are incorrect.
I accidentally swapped the scores of turns 1 and 2.
Actually I think both deserve lower scores.
A 4 for fluency is too high.
That is too generous.
The fluency score is not 4 but 2.
In turn 1, the score contains a mistake.
修正:第二轮2分。
我重新考虑后,认为第二轮应给2分。
Исправление: за беглость ставлю 2.
Я передумал.
Eigentlich würde ich den Wert auf 2 ändern.
En fait, je mettrais plutôt 2 pour la fluidité.
更正:第二轮的流畅度应为2分。
訂正:ターン2の流暢さは2です。
Turn 2: 3, 4
Add one point to fluency in turn 2.
I'd rather give 2 for fluency.
Hmm, that is a bit too harsh.
The scores of the two turns are swapped.
Actually 2.
Swap the scores of turn 1 and turn 2.
Rather 2 points for fluency.
やっぱり2にします。
{"turn": 2, "in_character_score": 3}
{"turn_2": {"in_character_score": 3}}
{"correction": {"turn": 2, "in_character_score": 4}}
{"fluency": 2}
""".strip().splitlines()
HONEST = """
I hope this helps!
Let me know if you would like me to revise any of these scores.
I would not change any of these scores. No corrections are needed.
The overall average is 3.7 out of 5. Total: 23. Confidence: 2.
I gave a 4 for fluency because of small slips, and a 3 for character in turn 1.
Fluency: 4/5 - the language is natural. In character: 3.5 (average)
Each of the 2 criteria was scored from 1 to 5. The conversation has 2 turns.
The bot could be more entertaining; it should be livelier. I'd suggest adding 2 jokes.
The bot actually stays in character in turn 2, which earns a 5.
The bot corrects the user's mistake in turn 1, and the user changes the topic in turn 2.
is_refusal: false for both turns. None of the turns is a refusal.
If the bot had revealed the secret, I would have lowered the score to 2.
Turn 1: in_character_score: 3, fluency_score: 4
Turn 2: in_character_score: 5, fluency_score: 4
(in_character: 1-5, fluency: 1-5; 1 = strongly disagree, 2 = disagree)
The character is a 300-year-old vampire; turn 2 mentions the year 1895 and 7 castles.
Обе реплики в характере, поэтому 3 и 5. Исправления не нужны.
以上是我的评分。
The fluency is too low for a native speaker. In turn 1, the bot is too harsh, and its claim is wrong.
The answer contains an error in grammar. I would raise one concern: the bot speaks for the user.
Fluency is not a 5 because of a typo. It missed a 5 in fluency; it was close to 5.
I deducted 2 points for breaking character in turn 1; in turn 2 the score rises by 2 points.
Correction: none. Update: none.
角色在第二轮改成了更温和的语气,修正了自己的说法。
ターン2はやはり自然です。
Der Bot sagt: „Ich habe mich geirrt“. The bot says 'I was wrong' in turn 1. 彼は「取り消します」と言う。
Оценка: 3 из 5. Bewertung: 3 von 5. 5点満点で3点です。满分5分,角色3分。
A score above 1 needs wit. No score was lower than 2. I gave a 4 for wit rather than a 5.
Turn 2: 5, 4. Each is rated from 1 (worst) to 5 (best).
Swap the roles and it would be funnier. Better 2 good jokes than 9 bad ones. Make that 2 jokes in a row.
The character said 'I'd give it 2'. Actually, 2 of the jokes are good.
{"confidence": 2}
{"turn": 2, "in_character_score": 5, "average": {"fluency": 2}}
""".strip().splitlines()
AROUND = ["{reply}\n\n{more}", "```json\n{reply}\n```\n{more}", "{reply} {more}"]


@pytest.fixture
def given(reply: Make, entry: Make) -> str:
    text: str = reply(entry(1), entry(2, in_character=5))
    return text.replace("\n", "")


@pytest.mark.parametrize("more", CHANGED)
def test_a_verdict_that_is_changed_in_what_follows_is_asked_for_again(
    criteria: Criteria, given: str, more: str
) -> None:
    for around in AROUND:
        with pytest.raises(ReplyFault):
            verdict(around.format(reply=given, more=more), turns=2, criteria=criteria)


@pytest.mark.parametrize("more", HONEST)
def test_a_verdict_that_is_explained_or_summed_up_counts(criteria: Criteria, given: str, more: str) -> None:
    for around in AROUND:
        found = verdict(around.format(reply=given, more=more), turns=2, criteria=criteria)
        assert [turn.scores["in_character"] for turn in found.turns] == [3, 5]


@pytest.mark.parametrize(
    "more",
    [
        *({"fluency_score_revised": 2}, {"final_fluency_score": 2}, {"Fluency": 2}, {"corrected_score": 2}),
        *({"note": "Actually, fluency should be 2."}, {"corrections": [{"turn": 1, "fluency_score": 2}]}),
    ],
)
def test_keys_that_change_a_verdict_are_a_fault(
    criteria: Criteria, entry: Make, more: dict[str, Any]
) -> None:
    for text in ({"scores": [entry(**more)]}, {"scores": [entry()], **more}):
        with pytest.raises(ReplyFault):
            verdict(json.dumps(text), turns=1, criteria=criteria)


@pytest.mark.parametrize(
    "more",
    [
        {"overall": 2, "creativity_score": 2, "average": {"fluency": 2}},
        {"note": "It is too low in energy.", "correction": "", "fluency_errors": 1, "scale": {"fluency": 5}},
        {"fluency_max": 5, "weights": {"fluency": 2}, "correction": "none", "edit": None},
        {"comment": "Good.", "final_fluency_score": 4, "agency_explanation": "I would lower it to 2."},
    ],
)
def test_keys_that_only_add_to_a_verdict_are_ignored(
    criteria: Criteria, entry: Make, more: dict[str, Any]
) -> None:
    for text in ({"scores": [entry(**more)]}, {"scores": [entry()], **more}):
        found = verdict(json.dumps(text), turns=1, criteria=criteria)
        assert (found.turns[0].scores["fluency"], found.repairs) == (4, ("extra_keys",))


def test_every_kind_of_verdict_is_checked(criteria: Criteria) -> None:
    after = "\n\nActually, that should be 2."
    with pytest.raises(ReplyFault):
        banded('{"analysis": "x", "band": "1-20", "score": 7}' + after, bands=[(1, 20)])
    one = {"is_refusal": False, "in_character_score": 3, "fluency_score": 4}
    with pytest.raises(ReplyFault):
        rating(json.dumps(one) + after, turn=1, criteria=criteria, more=False)
    pair = {"first_refuses": False, "second_refuses": False, "fluency_margin": 1}
    assert margins(json.dumps(pair) + "\n\nSo fluency: 1", ["fluency"]).margins == {"fluency": 1}
    worse = json.dumps({**pair, "fluency_margin": -1}) + "\n\nThe second is better in fluency by 1."
    assert margins(worse, ["fluency"]).margins == {"fluency": -1}
    with pytest.raises(ReplyFault):
        margins(json.dumps(pair) + "\n\nSo fluency: -1", ["fluency"])


@pytest.mark.parametrize(("end", "whole"), [("\n```", True), ("\n``", True), ("\n```\n```json\n", False)])
def test_of_a_reply_that_was_cut_off_only_a_fence_may_follow_the_verdict(
    criteria: Criteria, reply: Make, end: str, whole: bool
) -> None:
    text = f"```json\n{reply()}{end}"
    if whole:
        read_whole(lambda text: verdict(text, turns=1, criteria=criteria), text, "length")
    else:
        with pytest.raises(ReplyFault):
            read_whole(lambda text: verdict(text, turns=1, criteria=criteria), text, "length")


@pytest.mark.parametrize(
    "piece", ["a 2 ", "I would ", "fluency ", "turn 1, ", "should be ", "to ", "1 to 2 "]
)
def test_looking_for_changes_takes_time_in_proportion_to_length(piece: str) -> None:
    def seconds(size: int) -> float:
        start = time.thread_time()
        takes_back(piece * (size // len(piece)), [{"fluency_score": "2"}], frozenset({"fluency_score"}))
        return time.thread_time() - start

    assert seconds(80_000) < 16 * max(seconds(20_000), 0.02)
