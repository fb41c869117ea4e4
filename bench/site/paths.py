"""Where each page lies inside the site. All parts are slugs, so every id is safe and no two collide."""

from __future__ import annotations

import re

from bench.slugs import slug as slug

SAFE = re.compile(r"[a-z0-9-]+")
METHOD = "method.html"
DEMONSTRATION = "demonstration.html"
BOARDS = "boards/index.html"
READING = "reading-the-numbers.html"
PARTS = ("compare", "scenes", "judges", "audit", "rank-maps")
"""Pages that a board has beside itself; the last only where there is something to show."""


def board_page(suite: str, language: str) -> str:
    return f"{board_folder(suite, language)}/index.html"


def board_part(suite: str, language: str, part: str) -> str:
    """One of :data:`PARTS`."""
    return f"{board_folder(suite, language)}/{part}.html"


def board_data(suite: str, language: str, kind: str) -> str:
    return f"{board_folder(suite, language)}/board.{kind}"


def analyses(suite: str, language: str) -> str:
    """What the evidence says beyond the board, as data."""
    return f"{board_folder(suite, language)}/analyses.json"


def rank_map_file(suite: str, language: str, name: str, form: str) -> str:
    return f"{board_folder(suite, language)}/rank-maps/{slug(name)}.{form}"


def player_page(suite: str, language: str, player: str) -> str:
    return f"{player_folder(suite, language, player)}/index.html"


def player_audit(suite: str, language: str, player: str) -> str:
    return f"{player_folder(suite, language, player)}/audit.html"


def player_scores(suite: str, language: str, player: str) -> str:
    """Scores for the compare page: a script, since a page opened as a file can load nothing else."""
    return f"{player_folder(suite, language, player)}/scores.js"


def conversation_page(suite: str, language: str, player: str, scene: str) -> str:
    return f"{player_folder(suite, language, player)}/{scene}.html"


def scene_page(suite: str, language: str, scene: str) -> str:
    return f"{board_folder(suite, language)}/scenes/{scene}.html"


def side_page(suite: str, language: str, kind: str, key: str) -> str:
    """The page of a character or a situation (``kind``), by its slug."""
    return f"{board_folder(suite, language)}/{kind}s/{key}.html"


def scene_name(character: str, situation: str) -> str:
    """Name of a scene's files, as in the results tree: ``<character>.<situation>``."""
    return f"{slug(character)}.{slug(situation)}"


def relative(target: str, page: str) -> str:
    """Link from ``page`` to ``target``, both paths inside the site."""
    to, here = target.split("/"), page.split("/")
    shared = 0
    while shared < min(len(to), len(here)) - 1 and to[shared] == here[shared]:
        shared += 1
    return "../" * (len(here) - 1 - shared) + "/".join(to[shared:])


def board_folder(suite: str, language: str) -> str:
    return f"boards/{suite}/{language}"


def player_folder(suite: str, language: str, player: str) -> str:
    return f"{board_folder(suite, language)}/players/{slug(player)}"
