"""The page of a plan: how intervals shrink by rule, and the battles that each goal needs."""

from salon_console.page import Figure, PageSection, Specification, Table, render_page
from salon_ranking.report.curves import width_curve
from salon_ranking.scheduling.planning import GOAL_HEADS, BattlePlan, goal_rows

_MEASURES = {"median_width": "median interval", "widest": "widest interval"}


def plan_chart(plan: BattlePlan) -> Specification:
    """Draw widths of intervals against matches per model, one colour per rule; the goal as a dashed line."""
    data = plan.curve.unpivot(list(_MEASURES), index=["rule", "matches_per_model"], variable_name="measure", value_name="width")
    data = data.with_columns(data["measure"].replace(_MEASURES))
    return width_curve(data, title="Width of the interval (Elo)", goal=plan.goals.width, colour="rule", dash="measure")


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


def chart_svg(plan: BattlePlan) -> str:
    """Return the curves of a plan as a picture in SVG."""
    import vl_convert  # only a picture needs it

    picture: str = vl_convert.vegalite_to_svg({**plan_chart(plan), "width": 640, "background": "white"}, vl_version="6.4")
    return picture


def chart_png(plan: BattlePlan) -> bytes:
    """Return the curves of a plan as a picture in PNG, two pixels for each unit of the SVG."""
    import vl_convert

    picture: bytes = vl_convert.svg_to_png(chart_svg(plan), scale=2)
    return picture
