"""A run's cells on the workers of a Dask cluster (extra ``cluster``): the same code, the same results.

    bundle     a suite in one language with all its texts and the models it calls, by value
    worker     what happens in a worker process: its own Chat, kept from cell to cell
    driver     what happens in the command: hands cells out, checks and writes what comes back

Workers write nothing and need no access to the results tree; keys come from their own environment.
"""
