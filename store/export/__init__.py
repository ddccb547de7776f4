"""Export and import of sessions as files."""
