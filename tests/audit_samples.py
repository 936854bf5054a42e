"""An attempt at a model, and figures of an audit; shared by tests."""

from datetime import UTC, datetime
from decimal import Decimal

from smalti.engine.registry.attempts import Attempt
from smalti.engine.training.figures import AttackResult, AuditFigures, Figure
from smalti.vocab.terms import IRI

TARGET = IRI("http://example.com/data")
MODEL = IRI("http://example.com/model")


def attempt(run: str, target: IRI = TARGET, output: IRI = MODEL) -> Attempt:
    return Attempt(
        run=run,
        target=target,
        output=output,
        policy_uid=IRI("http://example.com/policy"),
        rule_uid=IRI("http://example.com/policy/1"),
        party=IRI("http://example.com/party"),
        bound_by=IRI("http://example.com/owner"),
        plan_digest="sha256:" + "0" * 64,
        number=0,
        begun_at=datetime(2026, 1, 2, tzinfo=UTC),
    )


def result(
    attack: str = "loss", advantage: float | None = 0.2, rate: float | None = 0.04, *, leak: bool = True
) -> AttackResult:
    return AttackResult(
        attack=attack,
        members=100,
        non_members=100,
        area=0.55,
        curve=((0.0, 0.0), (0.5, 0.6), (1.0, 1.0)),
        figures=(
            Figure(figure="attackAdvantage", value=0.1, limit=advantage),
            Figure(figure="truePositiveRate", false_positive_rate=Decimal("0.1"), value=0.9, limit=0.9),
            Figure(figure="truePositiveRate", false_positive_rate=Decimal("0.01"), value=0.0, limit=rate),
        ),
        finds_leak=leak,
        leak_advantage=0.5 if leak else 0.0,
    )


def figures(*results: AttackResult) -> AuditFigures:
    return AuditFigures(
        attempt=1, error="1/40", shadows=16, test_accuracy=0.5, train_accuracy=0.6, results=results
    )
