"""The page of story worlds: play, and everything that a world knows."""
