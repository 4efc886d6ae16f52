"""Reward models of pictures, learned from votes: ``salon train reward-model``.

pairs of ``salon votes pairs`` ──► losses.py  chances of votes ──► stage.py  updates, checkpoints, the result
                                                                   held_out.py  accuracy, calibration on pairs held out
"""
