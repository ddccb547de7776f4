"""Redis: its address, the embedded server, and the keys of one memory."""
