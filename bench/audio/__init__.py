"""Sound files: what they are, and where their bytes lie while a conversation is under way."""
