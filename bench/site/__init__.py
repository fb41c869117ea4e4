"""The website: bench.site.build builds it from the results, bench.site.serve serves it on this machine.

This package imports nothing by itself, so that worker processes load only what they need.
"""
