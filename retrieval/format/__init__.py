"""One reader for each format of document; ``retrieval.load`` lists them."""
