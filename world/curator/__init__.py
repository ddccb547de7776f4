"""The curator: every ten turns, behind an answer, it looks for contradictions and keeps what the story intends.

On a strong model it is a LangGraph agent over the story's tables; on a small one only code looks.
"""
