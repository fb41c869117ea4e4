"""Writing what a run has made, beside other processes that may work on the same tree."""

from __future__ import annotations

import threading

from bench.catalog import Catalog
from bench.protocols import Protocol
from bench.records import Conversation, Judgement
from bench.results import ResultsTree, sounds_of


class Keeper:
    """Writes the conversations and judgements of one protocol into one results tree, from any thread."""

    def __init__(self, protocol: Protocol, tree: ResultsTree, catalog: Catalog) -> None:
        self._protocol = protocol
        self._tree = tree
        self._catalog = catalog
        self._introduced: set[str] = set()
        self._lock = threading.Lock()
        if protocol.facts.spoken:
            protocol.sounds.source = tree.read_audio

    def conversation(self, conversation: Conversation) -> Conversation:
        """Write a conversation, its player's player.json first: a player with nothing to show gets no file.

        Where another process has finished the same cell meanwhile, its conversation stays and is returned: a
        judgement of it may be there already.
        """
        player = conversation.player
        with self._lock:
            if player not in self._introduced:
                info = self._catalog.player_info(player, self._protocol.parameters("player", player))
                self._tree.write_player(conversation.suite, conversation.language, info)
                self._introduced.add(player)
        for audio in sounds_of(conversation):
            data = self._protocol.sounds.release(audio)
            if data is not None:
                self._tree.write_audio(conversation, audio, data)
        if not self._tree.write_conversation(conversation):
            there = self._tree.conversation(conversation)
            if there is not None and _as_good(there, conversation):
                self._tree.drop_audio(conversation)
                return there
            self._tree.write_conversation(conversation, replace=True)
            if there is not None:
                self._tree.drop_audio(there)
        return conversation

    def judgement(self, judgement: Judgement) -> Judgement:
        """Write a judgement, unless another process has meanwhile finished the same one."""
        if not self._tree.write_judgement(judgement):
            there = self._tree.judgement(judgement, judgement.judge)
            if there is not None and _as_good(there, judgement):
                return there
            self._tree.write_judgement(judgement, replace=True)
        return judgement


def _as_good(there: Conversation | Judgement, ours: Conversation | Judgement) -> bool:
    """Whether what lies in our record's place was made from the same things and did not fail."""
    return there.fingerprint == ours.fingerprint and there.status != "failed"
