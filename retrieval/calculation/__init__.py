"""Tables are calculated with, not read: queries over the rows of a file, and the rows that a result comes from."""
