"""Stores what a run has made. Other processes may write to the same results tree."""

from __future__ import annotations

import threading

from bench.protocols import Protocol
from bench.records import Conversation, Judgement
from bench.results import ResultsTree, sounds_of


class TreeStorage:
    """Writes conversations and judgements of one protocol into a results tree. Thread-safe."""

    def __init__(self, protocol: Protocol, tree: ResultsTree) -> None:
        self._protocol = protocol
        self._tree = tree
        self._players_written: set[str] = set()
        self._lock = threading.Lock()

    def conversation(self, conversation: Conversation) -> Conversation:
        """Write a conversation, and before it its player's player.json.

        If another process has finished the same cell in the meantime, its conversation stays and is returned:
        it may have been judged already.
        """
        player = conversation.player
        with self._lock:
            if player not in self._players_written:
                sampling = self._protocol.parameters("player", player)
                info = self._protocol.catalog.player_info(player, sampling)
                self._tree.write_player(conversation.suite, conversation.language, info)
                self._players_written.add(player)
        for audio in sounds_of(conversation):
            data = self._protocol.sounds.release(audio)
            if data is not None:
                self._tree.write_audio(conversation, audio, data)
        if not self._tree.write_conversation(conversation):
            present = self._tree.conversation(conversation)
            if present is not None and _as_good(present, conversation):
                self._tree.drop_audio(conversation)
                return present
            self._tree.write_conversation(conversation, replace=True)
            if present is not None:
                self._tree.drop_audio(present)
        return conversation

    def judgement(self, judgement: Judgement) -> Judgement:
        """Write a judgement, unless another process has finished the same one in the meantime."""
        if not self._tree.write_judgement(judgement):
            present = self._tree.judgement(judgement, judgement.judge)
            if present is not None and _as_good(present, judgement):
                return present
            self._tree.write_judgement(judgement, replace=True)
        return judgement


def _as_good(present: Conversation | Judgement, ours: Conversation | Judgement) -> bool:
    """Whether the record that is already there has the same inputs as ours and did not fail."""
    same = (present.version, present.fingerprint) == (ours.version, ours.fingerprint)
    return same and present.status != "failed"
