"""OpenAI completions, ``POST /completions``: text in, text out, and the scores of both.

``requests.py`` decides on leaves and writes bodies, ``replies.py`` reads documents, ``streams.py`` reads events, and
``scoring.py`` finds the boundary between what was sent and what was generated.
"""

from synapse_models.dialects.openai_completions.binder import BINDER as BINDER
