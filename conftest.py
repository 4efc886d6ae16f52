"""Tests run beside others on small machines: Hypothesis judges what an example does, not how long it takes.

Where ``CI`` is set, Hypothesis draws the same examples every time; at a desk it looks for new ones.
"""

from hypothesis import HealthCheck, settings

settings.register_profile("salon", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("salon")
