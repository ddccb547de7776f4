"""Tables and how they are opened."""
