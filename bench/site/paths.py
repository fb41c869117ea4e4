"""Paths of the pages inside the site, and links between them. Every part is a slug, so no id is unsafe and no
two ids share a path."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from bench.slugs import slug as slug

SAFE = re.compile(r"[a-z0-9-]+")
METHOD = "method.html"
DEMONSTRATION = "demonstration.html"
PROBES = "card-probes.html"
MEASURES = "measures.html"
LONG = "long-conversations.html"
BOARDS = "boards/index.html"
READING = "reading-the-numbers.html"
SEARCH = "search.html"
TALK_INDEX = "talk-index"
"""Folder with an index of the conversations for each language, if :mod:`bench.site.talk_index` made any."""
PARTS = {
    "compare": ("Compare", "Players side by side, scene by scene"),
    "wins": ("Wins", "The share of scenes that each player wins against each other player"),
    "rescore": ("Your scoring", "Choose weights, judges and scenes, and your browser scores the board again"),
    "head-to-head": ("Head to head", "Players whose conversations judges compared in pairs"),
    "scenes": ("Scenes", "How hard each character, situation and scene is, and who does best there"),
    "judges": ("Judges", "How the judges agree, how strict they are, and whom they prefer"),
    "audit": ("Audit", "From every judge's scores of every turn to the numbers on the board"),
    "changes-of-board": ("Changes", "What changed on the board, and when"),
    "rank-maps": ("Rank maps", "The board beside the lists of other benchmarks with the same models"),
}
"""Pages beside a board: their titles, and what they show, for previews of links. Rank maps exist only if
another list shares enough models, and the head-to-head page only where players were compared in pairs."""
OF_CONVERSATIONS = frozenset({"audit", "changes-of-board"})
"""Those of our own evidence only, which published scores do not have."""
PROBE_PARTS = {"scenes": "Probes", "changes-of-board": "Changes"}
"""The same beside a board of probes. What compares or explains scores makes no sense there."""


def model_page(player: str) -> str:
    """The page of a model with all its boards."""
    return f"models/{slug(player)}.html"


def scene_name(character: str, situation: str) -> str:
    """Name of a scene's files, as in the results tree: ``<character>.<situation>``.

    A scene without a character, of published scores, has the name of the situation.
    """
    return f"{slug(character)}.{slug(situation)}" if character else slug(situation)


def relative(target: str, page: str) -> str:
    """The link from ``page`` to ``target``, both paths inside the site."""
    to, here = target.split("/"), page.split("/")
    shared = 0
    while shared < min(len(to), len(here)) - 1 and to[shared] == here[shared]:
        shared += 1
    return "../" * (len(here) - 1 - shared) + "/".join(to[shared:])


@dataclass(frozen=True)
class Links:
    """Where the pages of a board are: links from a page, or paths in the site. Templates call it ``to``."""

    suite: str
    language: str
    page: str = ""
    """The page that the links are on; empty: they are paths."""
    published: bool = False
    """The conversations are elsewhere: links to them lead to the page of the scene."""

    def path(self, target: str) -> str:
        """Any page of the site."""
        return relative(target, self.page) if self.page else target

    def file(self, name: str) -> str:
        """A file in the board's folder."""
        return self.path(f"boards/{self.suite}/{self.language}/{name}")

    def in_language(self, language: str) -> Links:
        """Links from the same page to the suite's board in another language."""
        return replace(self, language=language)

    def board(self) -> str:
        return self.file("index.html")

    def part(self, name: str) -> str:
        """One of :data:`PARTS`."""
        return self.file(f"{name}.html")

    def player(self, player: str, file: str = "index.html") -> str:
        """A player's page, or another file of its folder."""
        return self.file(f"players/{slug(player)}/{file}")

    def audit(self, player: str) -> str:
        """How a player's score was calculated."""
        return self.player(player, "audit.html")

    def talk(self, player: str, scene: str) -> str:
        """A player's conversation in a scene."""
        return self.scene(scene) if self.published else self.player(player, f"{scene}.html")

    def scene(self, scene: str) -> str:
        """The page of a scene, with all players in it."""
        return self.file(f"scenes/{scene}.html")

    def pair(self, one: str, other: str, scene: str = "index") -> str:
        """Two players who were compared, or their comparison in one scene."""
        first, second = sorted((slug(one), slug(other)))
        return self.file(f"pairs/{first}~{second}/{scene}.html")

    def side(self, kind: str, key: str) -> str:
        """The page of a character or a situation (``kind``), by its slug."""
        return self.file(f"{kind}s/{key}.html")
