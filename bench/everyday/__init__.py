"""Everyday conversations for ``bench plain``: their data, the two sides that play them, and the checks by code."""
