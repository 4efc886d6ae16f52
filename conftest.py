"""Tests run beside others on small machines: Hypothesis judges what an example does, not how long it takes.

Where ``CI`` is set, Hypothesis draws the same examples every time; at a desk it looks for new ones. No test asks the model
hub for anything, and none waits for it.
"""

import os

from hypothesis import HealthCheck, settings

os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is first imported; child processes get it, too
settings.register_profile("salon", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("salon")
