"""Durable jobs: accepted work that outlives its connection, and the record of how it ended."""
