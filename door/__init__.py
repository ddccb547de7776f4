"""The ways into Gieok beside the web page: today the terminal."""
