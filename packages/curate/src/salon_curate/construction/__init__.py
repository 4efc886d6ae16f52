"""Construction of benchmarks: prompts of PRISM-Bench and MagicBench. Questions of Artifact-Bench come from an arena."""
