"""The tray application: icon, menu and window over a running service.

Will hold the state that the service reported last, the menu and the pages drawn from it, and the code that finds,
starts and stops the service. It knows the service through `synapse_client` alone, and is the only package that may
import Qt.
"""
