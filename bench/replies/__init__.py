"""From the text a model wrote to data, in one place: find the JSON, mend it, then be strict.

Three calls: :func:`json_object`, :func:`verdict` (a judge's reply) and :func:`utterance` (an
interrogator's). Each either returns data with the ``repairs`` it took (slugs of :data:`REPAIRS`) or
raises :class:`ReplyFault`, whose sentence can be sent back to the model. Nothing else is raised,
whatever the text.
"""

from bench.replies.faults import REPAIRS, ReplyFault
from bench.replies.objects import Parsed, json_object
from bench.replies.utterances import Utterance, utterance
from bench.replies.verdicts import Verdict, verdict

__all__ = ["REPAIRS", "Parsed", "ReplyFault", "Utterance", "Verdict", "json_object", "utterance", "verdict"]
