"""The door for other agents: Google's Agent2Agent protocol, versions 1.0 and 0.3 by its SDK, the first one by us."""
