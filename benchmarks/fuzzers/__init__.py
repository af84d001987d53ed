"""Odd input for everything: calls, damaged files, and odd tables."""
