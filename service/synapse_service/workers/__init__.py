"""Worker processes as the service sees them: started, asked, watched and ended. Lanes and probes own them.

What runs inside of a worker is ``synapse_engines.worker``; its frames are the only thing that both sides share.
"""
