"""Plain text: cleaning, cutting, framing, language, sentences. Knows nothing of models, chats or storage.

Shows one function or two per module to the whole product; ``fact``, ``date`` and ``answer`` read what a text says.
May import nothing of the product.
"""
