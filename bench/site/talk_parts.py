"""The parts of a conversation's page that repeat, as HTML: there are dozens on thousands of pages.

Templates would take twice the time.
"""

from __future__ import annotations

from markupsafe import Markup, escape

from bench.replies.flaws import flaw_label
from bench.site.labels import criterion
from bench.site.numbers import dollars, whole
from bench.site.talk import ModelUse, ScoreView, TurnView, VerdictView
from bench.site.text import bdi, code, prose

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


def turn_head(turn: TurnView, name: str) -> Markup:
    """The heading of a turn, with a link to itself. ``name``: what to call it, such as ``Turn``."""
    n = turn.number
    marks = "".join(f' <span class="rc-chip">{escape(mark)}</span>' for mark in turn.marks)
    disputed = ' <span class="rc-chip rc-chip--dispute">judges disagree</span>' if turn.disputed else ""
    link = f'<a class="rc-link" href="#t{n}" aria-label="Link to {name.lower()} {n}">#</a>'
    return Markup(f'<h3 id="h{n}">{name} {n} {link}{marks}{disputed}</h3>')


def use_cells(use: ModelUse) -> Markup:
    """The cells of a row of model calls, after its head."""
    served = "".join(f", served as {code(one)}" for one in use.served if one != use.model)
    star = "*" if use.estimated else ""
    prints = "system fingerprint " * bool(use.fingerprints) + " ".join(map(code, use.fingerprints))
    odd = bdi("; ".join(use.odd)) if use.odd else ""
    remarks = "; ".join(part for part in (odd, prints) if part)
    return Markup(
        f'<td class="rc-remarks">{code(use.model)} · {bdi(use.provider)}{served}</td>'
        f'<td class="rc-num">{use.calls}</td><td class="rc-num">{whole(use.prompt_tokens)}{star}</td>'
        f'<td class="rc-num">{whole(use.completion_tokens)}{star}</td>'
        f'<td class="rc-num">{dollars(use.cost)}</td><td class="rc-remarks">{code(use.parameters)}</td>'
        f"<td>{remarks}</td>"
    )
