"""What the fields of a state block do to the state: one function for each field."""
