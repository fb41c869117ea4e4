"""Figures by matplotlib: the same bytes from run to run, as SVG with text as text, PNG and PDF."""
