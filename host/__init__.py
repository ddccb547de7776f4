"""The host of foreign tools: the programs (MCP servers) that the user set up, and their tools for the agent.

Public: ``McpHost`` (all servers of one process), ``ServerState`` (what the page shows of one), ``ServerEntry``
``Servers`` (the file that names them), ``Utility`` (how a server reaches our utility model).
"""

from host.entry import ServerEntry, Utility
from host.file import Servers
from host.host import McpHost, ServerState, ServerTool

__all__ = ["McpHost", "ServerEntry", "ServerState", "ServerTool", "Servers", "Utility"]
