"""OpenAI chat completions, ``POST /chat/completions``: the protocol that most servers speak.

``requests.py`` decides on leaves and writes bodies, ``replies.py`` reads documents, ``streams.py`` reads events, and
``fragments.py`` puts streamed tool calls together.
"""

from synapse_models.dialects.openai_chat.binder import BINDER as BINDER
