"""A scripted OpenAI-compatible server for tests and demonstrations."""
