"""Lanes: registered models, their identity, their workers, and the queue in front of each."""
