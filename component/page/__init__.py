"""The page around the conversation: its view state, header, windows, browser scripts, and words."""
