"""The page of a plan: how intervals shrink by rule, and the battles that each goal needs."""

from salon_console.line_chart import Curve, LegendEntry, LineChart, Threshold
from salon_console.page import Figure, PageSection, Table, render_page
from salon_ranking.scheduling.planning import GOAL_HEADS, BattlePlan, goal_rows

_MEASURES = {"median_width": "median interval", "widest": "widest interval"}


def plan_chart(plan: BattlePlan) -> LineChart:
    """Draw widths of intervals against matches per model, one colour per rule; the goal as a dashed line."""
    rules = plan.curve["rule"].unique(maintain_order=True).to_list()
    lines = [
        Curve(
            f"{words}, {rule}", dict(plan.curve.filter(rule=rule).select("matches_per_model", name).iter_rows()), colour, dash
        )
        for colour, rule in enumerate(rules)
        for dash, (name, words) in enumerate(_MEASURES.items())
    ]
    keys = [LegendEntry(rule, colour) for colour, rule in enumerate(rules)]
    keys += [LegendEntry(words, None, dash) for dash, words in enumerate(_MEASURES.values())]
    goal = [] if plan.goals.width is None else [Threshold(plan.goals.width, "goal")]
    return LineChart("Width of the interval (Elo)", lines, keys, goal, across="Matches per model", log=True)


def plan_page(plan: BattlePlan, *, title: str) -> str:
    """Return one self-contained HTML page.

    Example:
        >>> from salon_ranking.scheduling.planning import assumed_ratings, plan
        >>> from salon_ranking.scheduling.simulation import Goals
        >>> found = plan(assumed_ratings(3, 80), rules=["uniform"], leagues=1, goals=Goals(width=90.0))
        >>> "<h1>Plan</h1>" in plan_page(found, title="Plan")
        True
    """
    goals = Table(GOAL_HEADS, goal_rows(plan.table), frozenset(GOAL_HEADS[2:]), "Battles until each goal")
    curve = [
        (row["rule"], *(f"{row[name]:,.0f}" for name in ("battles", "matches_per_model", "median_width", "widest")))
        for row in plan.curve.iter_rows(named=True)
    ]
    heads = ("Rule", "Battles", "Matches per model", "Median width", "Widest")
    caption = "Intervals of a new arena, mean over the leagues. Dashed: the wanted width."
    figure = Figure(plan_chart(plan), caption, Table(heads, curve, frozenset(heads[1:]), "Widths by battles"))
    note = (
        f"Neighbours count when they are at least {plan.goals.least_gap:g} points apart. A newcomer is the middle model; all "
        "others have settled before it comes, and battles count from then on. Saved: against "
        "the uniform rule. Reached: by how many of the leagues."
    )
    return render_page(
        title,
        lead="How many battles a leaderboard needs, simulated.",
        facts=[("Assumed", plan.header)],
        sections=[PageSection("Goals", (goals, note)), PageSection("Intervals", (figure,))],
    )
