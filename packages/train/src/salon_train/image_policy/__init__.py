"""Train an image policy, a rectified flow, on rewards of its pictures (Flow-GRPO): ``salon train image``."""
