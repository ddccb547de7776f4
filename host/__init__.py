"""The host of foreign tools: the programs (MCP servers) that the user set up, and their tools for the agent."""
