"""Owned decoding: text generation whose state the service keeps between requests.

Belongs here: sessions and their states, the scheduler that shares a lane among them, the retained attention state
with its budget, and the approvals without which a model may not generate. Computing a token does not: workers do.
"""
