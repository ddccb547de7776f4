"""The index: vectors, words, and the revisions that are published."""
