"""Plans, runs and stores what a suite still needs: one implementation for every caller.

run_suite, judge_suite   the calls that do everything; :mod:`bench` exports them
jobs, plan, shards       what is to be done: a part of a suite, its cells, a machine's share of them
runner, storage          carrying a plan out, and storing the records
progress                 what has been done, and how a run tells its caller
prices                   whether a cost limit can be enforced
batches, batch_judging   judging through Batch APIs
processes                processes beside this one, which end with it
cluster/                 the same work on a Dask cluster
"""
