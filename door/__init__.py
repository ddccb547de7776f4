"""How people and programs come in beside the web page: today the terminal."""
