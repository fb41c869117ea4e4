"""Where each page lies inside the site. All parts are slugs, so every id is safe and no two collide."""

from __future__ import annotations

import re

from bench.slugs import slug

SAFE = re.compile(r"[a-z0-9-]+")
METHOD = "method.html"
DEMONSTRATION = "demonstration.html"
BOARDS = "boards/index.html"


def board_page(suite: str, language: str) -> str:
    return f"{_board(suite, language)}/index.html"


def board_data(suite: str, language: str, kind: str) -> str:
    return f"{_board(suite, language)}/board.{kind}"


def player_page(suite: str, language: str, player: str) -> str:
    return f"{_board(suite, language)}/players/{slug(player)}/index.html"


def conversation_page(suite: str, language: str, player: str, scene: str) -> str:
    return f"{_board(suite, language)}/players/{slug(player)}/{scene}.html"


def scene_page(suite: str, language: str, scene: str) -> str:
    return f"{_board(suite, language)}/scenes/{scene}.html"


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


def _board(suite: str, language: str) -> str:
    return f"boards/{suite}/{language}"
