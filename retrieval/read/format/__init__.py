"""Readers of documents, one for each format; ``retrieval.read.load`` lists them."""
