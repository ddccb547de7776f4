"""Changes to memories other than by a fold."""
