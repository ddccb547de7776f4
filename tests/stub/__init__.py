"""Stand-ins for other people's servers, on loopback."""
