"""Scores: from the records of a board to its numbers. Pure functions from data frame to data frame.

``frame`` and ``board`` read the results tree; everything else only takes and returns data.
"""
