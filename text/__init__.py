"""Plain text: cleaning, language, sentences, facts. Knows nothing of models, chats or storage."""
