"""Results in and out: tables for other programs, and the result files of other projects."""
