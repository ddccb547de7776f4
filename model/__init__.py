"""Chat models: hosted, local server, embedded llama.cpp; token counts; the scripted test model (design 9.2)."""
