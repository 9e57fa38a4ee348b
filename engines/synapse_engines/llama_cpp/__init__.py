"""Text generation by llama.cpp, for lanes that complete prompts under a grammar.

Belongs here: the worker's side of such a lane. Its sessions, budgets and approvals live in the service.
"""
