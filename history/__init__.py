"""What a client sends of a history, held against what is stored: one way for conversations and stories, without I/O."""
