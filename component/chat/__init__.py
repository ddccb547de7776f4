"""The view of a conversation: its turns, the message input, and the notices between them."""
