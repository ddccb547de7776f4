"""Is the memory any good? Scenarios with planted values, probes without a model, and a judge (specification, memory
evaluation)."""
