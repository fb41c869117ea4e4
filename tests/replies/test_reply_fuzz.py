"""A short run of the fuzzer over replies; ``make benchmarks`` makes a long one."""

from __future__ import annotations

from tests.replies.fuzzing import fuzz


def test_nothing_is_read_that_a_reply_does_not_say() -> None:
    became, wrong = fuzz(1500, seed=1)
    assert wrong == []
    assert all(counts["read"] > 100 for counts in became.values())
