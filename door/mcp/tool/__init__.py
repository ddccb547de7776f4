"""The tools of the MCP door, one module for each subject, and what a tool is.

Shows ``tool.Tool`` and the tools of each module to ``door.mcp.server``, which lists them.
May import ``door.mcp.call``, ``door.mcp.caller``, ``server``, ``evaluation`` and all below them, and no other door.
"""
