"""The nodes of the agent, one per file; ``graph.wiring`` joins them."""
