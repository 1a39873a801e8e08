"""What `serve_load.py` measures with: the server, those who ask it, and the translator without it."""
