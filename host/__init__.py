"""The host of foreign tools: the programs (MCP servers) that the user set up, and their tools for the agent.

Shows ``McpHost`` (all servers of one process), ``ServerState`` (what the page shows of one), ``ServerEntry``,
``Servers`` (the file that names them) and ``Utility`` (how a server reaches our utility model).
May import ``store``, ``model.call`` and ``text``, and the package of MCP.
"""

from host.entry import ServerEntry, Utility
from host.file import Servers
from host.host import McpHost, ServerState, ServerTool

__all__ = ["McpHost", "ServerEntry", "ServerState", "ServerTool", "Servers", "Utility"]
