"""The human study: conversations out to people who judge them, and their ratings in again."""
