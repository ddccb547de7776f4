"""Widgets and texts that several parts of the page use."""
