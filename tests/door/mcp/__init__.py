"""Tests of the server that speaks the Model Context Protocol."""
