"""The door for chat programs: completions, responses, models and embeddings of OpenAI's protocol.

Shows ``routes.OpenAIRoutes``, which ``door.endpoint`` adds to its application; the other files are its parts.
May import ``server`` and all below it, and no other door.
"""
