"""From the text a model wrote to data, in one place: find the JSON, repair it, then validate strictly.

Calls: :func:`json_object`, :func:`verdict` (a judge's reply about a conversation), :func:`utterance` (an
interrogator's), :func:`rating` (of one that is both) and :func:`banded` (a judge that picks a band first).
Each either returns data with the ``repairs`` it took (slugs of :data:`REPAIRS`) or raises
:class:`ReplyFault`, whose sentence can be sent back to the model. Nothing else is raised, whatever the text.
"""

from bench.replies.bands import Banded, banded
from bench.replies.faults import REPAIRS, ReplyFault
from bench.replies.objects import Parsed, json_object
from bench.replies.ratings import Rating, rating
from bench.replies.utterances import Utterance, utterance
from bench.replies.verdicts import Verdict, verdict

__all__ = [
    "REPAIRS",
    "Banded",
    "Parsed",
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
