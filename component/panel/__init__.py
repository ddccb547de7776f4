"""The right panel: summaries, their comparison, and the prompts that the model was given."""
