"""The settings window: the model, how the page looks, how a conversation is answered."""
