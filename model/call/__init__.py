"""One call of a model: the client, its stream, its end, its errors."""
