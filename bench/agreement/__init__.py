"""Judges against people: how far they agree, how far people agree, and what ensembles of judges are worth.

Pure functions from tables to records. :mod:`bench.agreement.study` makes the tables from a human study and
the results tree, :mod:`bench.agreement.sheet` from a researcher's own CSV; :mod:`bench.agreement.report`
makes the record that the command line and the site show.
"""
