"""Reward models of pictures, learned from votes: ``salon train reward-model``.

preferences.py  pairs of ``salon votes pairs`` ──► losses.py  chances of votes ──► stage.py  updates, checkpoints, the result
                                                   held_out.py  accuracy and calibration on pairs that it never learned from
"""
