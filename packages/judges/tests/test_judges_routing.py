"""Each step of a suite can have a judge of its own; the version is made of all of them."""

import pytest

from salon_judges.asking.asker import judge_for
from salon_judges.clients import ChatSettings, RoutedJudge, RoutedSettings, open_settings, read_judges, restore_settings
from salon_judges.clients.specification import with_concurrency
from salon_taxonomy.errors import InputError
from salon_taxonomy.testing import ReplayJudge


def test_each_step_has_its_judge_and_all_others_share_one() -> None:
    small, large = ReplayJudge([], name="small", version="1"), ReplayJudge([], name="large", version="2")
    judge = RoutedJudge({"subject": small, "*": large})
    assert judge_for(judge, "subject") is small
    assert judge_for(judge, "assessment") is large
    assert judge_for(small, "assessment") is small


def test_a_step_without_a_judge_is_named_with_what_to_write() -> None:
    judge = RoutedJudge({"subject": ReplayJudge([])})
    with pytest.raises(InputError, match="--judge assessment=SPEC"):
        judge.judge_of("assessment")
    with pytest.raises(InputError):
        RoutedJudge({})


def test_the_version_tells_routes_apart() -> None:
    one, two = ReplayJudge([], version="1"), ReplayJudge([], version="2")
    versions = {
        RoutedJudge({"a": one, "b": two}).version,
        RoutedJudge({"a": two, "b": one}).version,
        RoutedJudge({"a": one}).version,
        RoutedJudge({"*": one}).version,
        one.version,
    }
    assert len(versions) == 5
    assert RoutedJudge({"b": two, "a": one}).version == RoutedJudge({"a": one, "b": two}).version


def test_judges_with_steps_become_one_and_others_a_panel() -> None:
    (routed,) = read_judges(["subject=vllm:small@a:1", "assessment=cache:replies=vllm:large@b:1", "vllm:rest"])
    assert isinstance(routed, RoutedSettings)
    assert routed.title == "*=rest+assessment=large+subject=small"
    assert restore_settings(routed.model_dump(mode="json")) == routed
    assert [each.title for each in read_judges(["vllm:a", "vllm:b"])] == ["a", "b"]


@pytest.mark.parametrize("texts", [["a=vllm:m", "a=vllm:n"], ["a=vllm:m", "vllm:x", "vllm:y"]])
def test_two_judges_for_one_step_are_refused(texts: list[str]) -> None:
    with pytest.raises(InputError, match="two judges"):
        read_judges(texts)


@pytest.mark.parametrize(
    "document", [{}, {"routes": {}}, {"routes": 3}, {"routes": {"a": 3}}, {"routes": {"a": {"kind": "x"}}}]
)
def test_settings_without_proper_routes_are_refused(document: dict[str, object]) -> None:
    with pytest.raises(InputError):
        restore_settings({"kind": "routed", **document})


def test_routes_stand_outermost() -> None:
    (routed,) = read_judges(["subject=vllm:small"])
    inner = routed.model_dump(mode="json")
    for outer in ({"kind": "cache", "path": "x", "judge": inner}, {"kind": "routed", "routes": {"a": inner}}):
        with pytest.raises(InputError, match="cannot stand within"):
            restore_settings(outer)


def test_a_number_at_once_reaches_every_judge_within() -> None:
    (routed,) = read_judges(["subject=cache:replies=vllm:small", "vllm:large"])
    judge = open_settings(with_concurrency(routed, 7), {})
    assert isinstance(judge, RoutedJudge)
    assert [route.settings.limits.concurrency for route in judge.routes.values()] == [7, 7]  # type: ignore[attr-defined]
    assert isinstance(judge.settings, ChatSettings)
