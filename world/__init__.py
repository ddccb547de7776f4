"""Story worlds for role-play: what has happened is kept in tables, and every prompt gets what it needs of it."""
