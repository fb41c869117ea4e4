"""What a board's evidence says beyond its ranking: one question per module.

All are pure functions to data frames. A figure that does not exist is a missing cell (null in JSON),
never 0, and the row's ``reason`` says why. Means follow the paper's scoring: a judgement that saw a refusal
is left out.
"""
