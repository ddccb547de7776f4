"""Objects that one process shares, and work that runs beside the page."""
