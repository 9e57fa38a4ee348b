"""Models as files: what the catalog knows, where bytes are kept, and how they are fetched."""
