"""The ways into Gieok beside the web page: OpenAI's protocol, MCP, other agents by A2A, the terminal.

Shows ``endpoint.create_app``, which serves the first three in one application; each door is a folder of its own.
May import ``server`` and all below it. No door imports another; only ``doors`` and ``endpoint`` know several.
"""
