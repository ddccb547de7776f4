"""What conversations took and saved over time."""
