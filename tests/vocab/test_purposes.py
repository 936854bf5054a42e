"""The purposes that are known: MOSAICrOWN's and those of DPV."""

from collections.abc import Iterator

import pytest

from smalti.vocab.purposes import BROADER, EXACT_MATCHES, PURPOSES
from smalti.vocab.terms import DPV, INSTITUTIONAL, IRI, MARKETING, STATISTICAL


def dpv(name: str) -> IRI:
    return IRI(DPV + name)


def above(purpose: IRI) -> Iterator[IRI]:
    for broader in BROADER[purpose]:
        yield broader
        yield from above(broader)


def below(purpose: IRI) -> set[IRI]:
    return {narrower for narrower in BROADER if purpose in above(narrower)}


def test_every_purpose_of_dpv_leads_up_to_the_top_one() -> None:
    top = dpv("Purpose")
    of_dpv = {purpose for purpose in BROADER if purpose.startswith(DPV)}
    assert len(of_dpv) == 122
    assert below(top) == of_dpv - {top}
    assert BROADER[top] == ()


def test_each_broader_purpose_is_defined_and_none_is_its_own() -> None:
    for purpose, broader in BROADER.items():
        assert set(broader) <= set(BROADER)
        assert purpose not in above(purpose)


def test_what_dpv_says_of_marketing_and_research() -> None:
    assert below(dpv("Marketing")) == set(map(dpv, (
        "Advertising", "DirectMarketing", "PersonalisedAdvertising", "PoliticalCampaign", "PublicRelations",
        "RecruitmentAdvertising", "RecruitmentTargetedAdvertising", "SocialMediaMarketing",
        "TargetedAdvertising",
    )))  # fmt: skip
    assert below(dpv("ResearchAndDevelopment")) == set(map(dpv, (
        "AcademicResearch", "CommercialResearch", "NonCommercialResearch", "ScientificResearch",
    )))  # fmt: skip


def test_marketing_is_one_concept_and_the_others_of_mosaicrown_stand_alone() -> None:
    assert dict(EXACT_MATCHES) == {MARKETING: dpv("Marketing")}
    assert MARKETING not in BROADER
    assert BROADER[STATISTICAL] == BROADER[INSTITUTIONAL] == ()
    assert not {STATISTICAL, INSTITUTIONAL} & {one for broader in BROADER.values() for one in broader}
    assert {MARKETING, STATISTICAL, INSTITUTIONAL, dpv("Marketing")} <= PURPOSES


@pytest.mark.parametrize("table", [BROADER, EXACT_MATCHES])
def test_the_tables_cannot_be_changed(table: dict[IRI, object]) -> None:
    with pytest.raises(TypeError):
        table[dpv("Marketing")] = ()
