"""Topic coverage: what users talk about, and which share of it a suite's situations cover.

Source: the PingPong paper, appendix C. What users wrote stays where it is: results hold words that several
messages share, and whole messages only where they were asked for.
"""

from typing import Final

THRESHOLD: Final = 0.17
"""Similarity from which a situation is proposed to cover a topic. In our two samples the pairs that a person
would name reach 0.17 to 0.48, all others 0.16 at most."""
