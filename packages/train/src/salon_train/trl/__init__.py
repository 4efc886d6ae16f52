"""Subclasses of TRL's trainers: whole checkpoints, planned prompts, groups that abstain together, early abort."""
