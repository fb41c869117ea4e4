"""Judges against people: how well they agree, how well people agree, and how good ensembles of judges are.

Pure functions from tables to records. :mod:`bench.agreement.study` makes the tables from a human study and
the results tree, :mod:`bench.agreement.sheet` from a researcher's own CSV; :mod:`bench.agreement.report`
makes the record that the command line and the site show.
"""
