"""The way from a question to passages and an answer."""
