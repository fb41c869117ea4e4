"""From the text that a model wrote to data: find the JSON, repair it if that is safe, then check strictly.

Functions: :func:`json_object`, :func:`verdict` (a judge's reply about a conversation), :func:`utterance` (an
interrogator's reply), :func:`rating` (of a model that is both), :func:`banded` (a judge that picks a band
first) and ``bench.replies.speech.speech_verdict``. Each returns data with the ``repairs`` it took (slugs of
:data:`REPAIRS`) or raises :class:`ReplyFault`, whose sentence can be sent back to the model. Nothing else is
raised, whatever the text.
"""

from bench.replies.bands import Banded, banded
from bench.replies.faults import REPAIRS, ReplyFault
from bench.replies.objects import JsonReply, json_object
from bench.replies.utterances import Utterance, utterance
from bench.replies.verdicts import Rating, Verdict, rating, verdict

__all__ = [
    "REPAIRS",
    "Banded",
    "JsonReply",
    "Rating",
    "ReplyFault",
    "Utterance",
    "Verdict",
    "banded",
    "json_object",
    "rating",
    "utterance",
    "verdict",
]
