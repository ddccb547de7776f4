"""The tables of story worlds (specification 6 of the world): turns as a tree, and what each turn changed."""
