"""The tab that tests the memory of a conversation: a judge, scenarios and the compression curve."""
