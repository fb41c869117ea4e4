"""The colours that every figure shares. The site replaces them by the colours of the page's theme."""

INK = "#1f2328"
"""Text."""
PAPER = "#ffffff"
"""Background."""
FAINT = "#6a7077"
"""Grid lines and other marks in the background."""
