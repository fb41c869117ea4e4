"""Dramaturg: measure how well chat models play a role, and publish the evidence."""

__version__ = "0.1.0"
