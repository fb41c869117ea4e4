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
    "compare": "Compare",
    "wins": "Wins",
    "rescore": "Your scoring",
    "head-to-head": "Head to head",
    "scenes": "Scenes",
    "judges": "Judges",
    "audit": "Audit",
    "changes-of-board": "Changes",
    "rank-maps": "Rank maps",
}
"""Pages beside a board, with their titles. Rank maps exist only if another list shares enough models, and the
head-to-head page only where players were compared in pairs."""
ABOUT = {
    "compare": "Players side by side, scene by scene",
    "wins": "The share of scenes that each player wins against each other player",
    "rescore": "Choose weights, judges and scenes, and your browser scores the board again",
    "head-to-head": "Players whose conversations judges compared in pairs",
    "scenes": "How hard each character, situation and scene is, and who does best there",
    "judges": "How the judges agree, how strict they are, and whom they prefer",
    "audit": "From every judge's scores of every turn to the numbers on the board",
    "changes-of-board": "What changed on the board, and when",
    "rank-maps": "The board beside the lists of other benchmarks with the same models",
}
"""What these pages show, for previews of links."""
OF_CONVERSATIONS = frozenset({"audit", "changes-of-board"})
"""Those of our own evidence only, which published scores do not have."""
PROBE_PARTS = {"scenes": "Probes", "changes-of-board": "Changes"}
"""The same beside a board of probes. What compares or explains scores makes no sense there."""


def board_page(suite: str, language: str) -> str:
    return f"{board_folder(suite, language)}/index.html"


def board_part(suite: str, language: str, part: str) -> str:
    """One of :data:`PARTS`."""
    return f"{board_folder(suite, language)}/{part}.html"


def player_page(suite: str, language: str, player: str) -> str:
    return f"{player_folder(suite, language, player)}/index.html"


def model_page(player: str) -> str:
    """The page of a model with all its boards."""
    return f"models/{slug(player)}.html"


def conversation_page(suite: str, language: str, player: str, scene: str) -> str:
    return f"{player_folder(suite, language, player)}/{scene}.html"


def side_page(suite: str, language: str, kind: str, key: str) -> str:
    """The page of a character or a situation (``kind``), by its slug."""
    return f"{board_folder(suite, language)}/{kind}s/{key}.html"


def pair_page(suite: str, language: str, one: str, other: str, scene: str = "") -> str:
    """The page of two players who were compared; with ``scene``, that of their comparison in it."""
    first, second = sorted((slug(one), slug(other)))
    folder = f"{board_folder(suite, language)}/pairs/{first}~{second}"
    return f"{folder}/{scene}.html" if scene else f"{folder}/index.html"


def scene_name(character: str, situation: str) -> str:
    """Name of a scene's files, as in the results tree: ``<character>.<situation>``.

    A scene without a character, of published scores, has the name of the situation.
    """
    return f"{slug(character)}.{slug(situation)}" if character else slug(situation)


def board_folder(suite: str, language: str) -> str:
    return f"boards/{suite}/{language}"


def player_folder(suite: str, language: str, player: str) -> str:
    return f"{board_folder(suite, language)}/players/{slug(player)}"


def relative(target: str, page: str) -> str:
    """The link from ``page`` to ``target``, both paths inside the site."""
    to, here = target.split("/"), page.split("/")
    shared = 0
    while shared < min(len(to), len(here)) - 1 and to[shared] == here[shared]:
        shared += 1
    return "../" * (len(here) - 1 - shared) + "/".join(to[shared:])


@dataclass(frozen=True)
class Links:
    """Links from one page to the pages of a board. Templates call it ``to``."""

    suite: str
    language: str
    page: str
    """The page that the links are on."""
    published: bool = False
    """The conversations are elsewhere: links to them lead to the page of the scene."""

    def path(self, target: str) -> str:
        """Any page of the site."""
        return relative(target, self.page)

    def in_language(self, language: str) -> Links:
        """Links from the same page to the suite's board in another language."""
        return replace(self, language=language)

    def board(self) -> str:
        return self.path(board_page(self.suite, self.language))

    def part(self, name: str) -> str:
        """One of :data:`PARTS`."""
        return self.path(board_part(self.suite, self.language, name))

    def player(self, player: str) -> str:
        return self.path(player_page(self.suite, self.language, player))

    def audit(self, player: str) -> str:
        """How a player's score was calculated."""
        return self.path(f"{player_folder(self.suite, self.language, player)}/audit.html")

    def talk(self, player: str, scene: str) -> str:
        """A player's conversation in a scene."""
        if self.published:
            return self.scene(scene)
        return self.path(conversation_page(self.suite, self.language, player, scene))

    def scene(self, scene: str) -> str:
        """The page of a scene, with all players in it."""
        return self.path(f"{board_folder(self.suite, self.language)}/scenes/{scene}.html")

    def pair(self, one: str, other: str, scene: str = "") -> str:
        """Two players who were compared, or their comparison in one scene."""
        return self.path(pair_page(self.suite, self.language, one, other, scene))

    def side(self, kind: str, key: str) -> str:
        return self.path(side_page(self.suite, self.language, kind, key))
