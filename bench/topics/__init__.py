"""Topic coverage: what users talk about, and what share of it a suite's situations cover.

Source: the PingPong paper, appendix C. Privacy: results hold words that several messages share, and whole
messages only on request.
"""

from typing import Final

THRESHOLD: Final = 0.17
"""A situation is proposed to cover a topic from this similarity on. In our two samples, pairs that a person
would name have 0.17 to 0.48, all others at most 0.16."""
