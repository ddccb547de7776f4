"""The headers in which every answer says where it belongs: its conversation and turn, how the client's history was
recognised, and which fields of the request were left out."""

SESSION, TURN, FIT, LEFT_OUT = "X-Gieok-Session", "X-Gieok-Turn", "X-Gieok-Fit", "X-Gieok-Left-Out"
