"""The endpoint that speaks OpenAI's protocol."""
