"""The memory tab of the panel."""
