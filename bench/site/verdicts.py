"""A judge's verdict on a turn as HTML. Made without a template: there are dozens on thousands of pages."""

from __future__ import annotations

from markupsafe import Markup, escape

from bench.replies.flaws import flaw_label
from bench.site.labels import criterion
from bench.site.talk import ScoreView, VerdictView
from bench.site.text import bdi, prose

_BAD = ' <span class="rc-chip rc-chip--bad">'
_DISPUTED = '<span class="rc-sr"> (judges disagree)</span>'


def verdict_html(view: VerdictView, judge: Markup, steps: str = "") -> Markup:
    """A verdict under its turn, closed, with a link to itself.

    ``judge``: its name. ``steps``: how it arrived at the score of a spoken answer, in place of reasons.
    """
    verdict, anchor = view.verdict, escape(view.anchor)
    label = f", {escape(view.label)}" if view.label else ""
    parts = [
        f'<div class="rc-linked"><details class="rc-reasons rc-verdict" id="{anchor}"><summary>'
        f'<span class="rc-judge">{judge}{label}</span>'
    ]
    if verdict.is_refusal:
        parts.append(f"{_BAD}refusal</span>")
    parts += map(_score, view.scores)
    if verdict.flaws:
        count = len(verdict.flaws)
        parts.append(f"{_BAD}{count} flaw{'s' * (count > 1)}</span>")
    parts.append("</summary>\n")
    if verdict.is_refusal or verdict.refusal_reason:
        said = "yes" if verdict.is_refusal else "no"
        reason = prose(verdict.refusal_reason, "rc-reason")
        parts.append(f'<p class="rc-why">Refusal: {said}</p>{reason}\n')
    if steps:
        parts.append(f"{steps}\n")
    if view.detail:
        details = " · ".join(f"{bdi(name)}: {bdi(text, 2000)}" for name, text in view.detail)
        parts.append(f'<p class="rc-why">{details}</p>\n')
    if view.steps is None:
        parts += [
            f'<p class="rc-why">{criterion(one.criterion)}: {one.score}</p>{prose(one.reason, "rc-reason")}\n'
            for one in view.scores
        ]
    if verdict.flaws is not None:
        flaws = ", ".join(
            f"{escape(flaw_label(one.flaw))} (<q>{bdi(one.quote, 500)}</q>)" for one in verdict.flaws
        )
        parts.append(f'<p class="rc-why">Flaws: {flaws or "none listed"}</p>\n')
    parts.append(
        f'</details><a class="rc-link" href="#{anchor}" aria-label="Link to this verdict">#</a></div>\n'
    )
    return Markup("".join(parts))


def _score(one: ScoreView) -> str:
    disputed, remark = (" rc-disputed", _DISPUTED) if one.disputed else ("", "")
    name = criterion(one.criterion)
    return f' <span class="rc-score {one.tint}{disputed}">{name} <b>{one.score}</b>{remark}</span>'
