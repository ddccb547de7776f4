"""The view of one answer: its growing text, its steps and sources, the search trace, and the actions under it."""
