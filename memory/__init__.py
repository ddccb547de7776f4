"""Long-term memory (design §6)."""
