"""Export of scores for other programs, and import of result files of other projects."""
