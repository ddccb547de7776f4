"""Which names mean the same person or place."""
