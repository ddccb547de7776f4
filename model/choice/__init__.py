"""The choice of the model, and the check whether it answers."""
