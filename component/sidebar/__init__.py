"""The left side: the list of conversations and the actions on them."""
