"""A run's cells on the workers of a Dask cluster (``make cluster``): the same code, the same results.

    bundle     a suite in one language with all its texts and the models it calls, as JSON
    source     a hash of the package's source, by which the command's and the workers' are compared
    worker     in a worker process: one Chat, kept from cell to cell
    driver     in the command: hands cells out, checks and stores what comes back

Workers write nothing and need no access to the results tree. API keys come from their own environment.
"""
