"""Construction of benchmarks: PRISM-Bench's and MagicBench's prompts, Artifact-Bench's questions."""
