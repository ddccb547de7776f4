"""The input of the model: the prompt, its report, and the ways to look at it."""
