"""Tests run beside others on small machines: Hypothesis judges what an example does, not how long it takes.

Where ``CI`` is set, Hypothesis draws the same 50 examples every time; at a desk it looks for new ones. ``pytest
--hypothesis-profile long`` draws 1,000. No test asks the model hub for anything, and none waits for it. The processes that
tests start compile what they import once, not every time.
"""

import os
import sys

from hypothesis import HealthCheck, settings

os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is first imported; child processes get it, too
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
settings.register_profile("salon", settings(), deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", settings.get_profile("salon"), max_examples=1000)
settings.load_profile("salon")
