"""Package sets on Apple's Neural Engine: Core ML packages of fixed lengths, each a zipped ``.mlmodelc`` folder.

`archives` and `packages` read and unpack what a user names, on any system and without an array library, so the service
looks into a package before it registers a model. `model` computes with a set through the seam `Predictor`; what
stands behind that seam runs on macOS alone. Importing this package imports nothing.
"""
