"""The tables of story worlds (specification 12.7): turns as a tree, and what each turn changed."""
