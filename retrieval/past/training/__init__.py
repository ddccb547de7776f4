"""What a search in past turns learns from: conversations and questions that were written for it."""
