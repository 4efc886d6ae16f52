"""Train an image policy, a rectified flow, on rewards (Flow-GRPO) or votes (Diffusion-DPO): ``salon train image``."""
