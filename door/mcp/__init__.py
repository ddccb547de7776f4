"""The server of the Model Context Protocol: other agents use Gieok's chat, memory, documents and worlds.

Shows ``http.Endpoint`` to ``door.doors``, the program for a pipe in ``stdio`` to ``cli``, and the path below.
May import ``server``, ``evaluation`` and all below them, and no other door.
"""

from server.refusal import MCP_PATH

PATH = MCP_PATH
