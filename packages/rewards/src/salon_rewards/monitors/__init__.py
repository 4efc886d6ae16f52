"""Is a policy gaming its reward? Monitors that look at one step's completions after another.

watch, MonitorBoard         all monitors of a grammar, run per step; a row for any logger
StepBatch                   one step's completions with their columns, parsed once
Reading, Alarm              what a monitor says: a number, its threshold; ok, warn or stop
LabelFlooding               names every kind of artifact
AlwaysNormal, AlwaysArtifact   gives one verdict whatever it sees
TemplateReasoning           thinks the same whatever it sees
ReasoningContradiction      thinks one thing and answers another
PromptEditing               rewrites the prompt instead of the picture
LengthDrift                 writes more and more, or less and less
RewardMetricDivergence      earns more and knows less
Unreadable                  writes what no grammar takes
audit, read_log             the same over the log of a run (``salon reward audit``)
"""

from salon_rewards.monitors.audit import Audit, MonitorHistory, audit, read_log
from salon_rewards.monitors.batch import AnswerForm, ReadCompletion, StepBatch
from salon_rewards.monitors.contradiction import Contradiction, FaultClaim, ReasoningContradiction, claimed, contradiction
from salon_rewards.monitors.divergence import RewardMetricDivergence
from salon_rewards.monitors.label_flooding import LabelFlooding
from salon_rewards.monitors.length_drift import LengthDrift
from salon_rewards.monitors.match_claims import claimed_match
from salon_rewards.monitors.monitor_set import MONITORS, MonitorBoard, Watched, watch
from salon_rewards.monitors.one_verdict import AlwaysArtifact, AlwaysNormal
from salon_rewards.monitors.prompt_editing import PromptEditing
from salon_rewards.monitors.reading import Alarm, Monitor, Reading, Thresholds
from salon_rewards.monitors.template_reasoning import TemplateReasoning, shared_words
from salon_rewards.monitors.unreadable import Unreadable

__all__ = [
    "MONITORS",
    "Alarm",
    "AlwaysArtifact",
    "AlwaysNormal",
    "AnswerForm",
    "Audit",
    "Contradiction",
    "FaultClaim",
    "LabelFlooding",
    "LengthDrift",
    "Monitor",
    "MonitorBoard",
    "MonitorHistory",
    "PromptEditing",
    "ReadCompletion",
    "Reading",
    "ReasoningContradiction",
    "RewardMetricDivergence",
    "StepBatch",
    "TemplateReasoning",
    "Thresholds",
    "Unreadable",
    "Watched",
    "audit",
    "claimed",
    "claimed_match",
    "contradiction",
    "read_log",
    "shared_words",
    "watch",
]
