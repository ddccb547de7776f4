"""Running one turn: from the user's message to the written answer."""
