"""The server that speaks the Model Context Protocol: other agents use Gieok's chat, memory, documents and worlds."""

PATH = "/mcp"
