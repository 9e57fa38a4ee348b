"""Certification: on which machine a lane's numbers were proven, with what evidence, and how fast it was."""
