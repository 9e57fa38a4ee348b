"""The engines: what computes a model, and nothing else.

`families/` states what a model family is, `artifacts.py` and `weights.py` read its file, `tokenizer.py` turns
text into ids, `reference/` computes slowly and plainly, `openvino/` and `mlx/` compute fast, and `worker/` wraps
one loaded model in a process. The service imports the modules here that need no array library; only worker
processes and tests import the others. This package imports nothing of the rest of the product.
"""
